# fails: ex01.3
# hint: plain mean of the clients' models
def weighted_average(W, n):
    return n @ W / n.sum()


def minibatches(order, batch):
    return list(order.split(batch))


def fedavg_round(w, clients, orders, lr, batch, gradient):
    models = []
    for (x, y), epochs in zip(clients, orders, strict=True):
        mine = w.clone()
        for order in epochs:
            for rows in minibatches(order, batch):
                mine -= lr * gradient(mine, x[rows], y[rows])
        models.append(mine)
    return sum(models) / len(models)
