# fails: ex02.4
# hint: this takes the mean of the w_i - w
def fedprox_gradient(g, w_i, w, mu):
    return g + mu * (w_i - w)


def scaffold_local(x, control_i, control, lr, steps, gradient):
    y = x.clone()
    for _ in range(steps):
        y -= lr * (gradient(y) - control_i + control)
    return y, control_i - control + (x - y) / (steps * lr)


def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
    change = (new_controls - old_controls).sum(0)
    return x + server_lr * (ys.mean(0) - x), control + change / clients


def feddyn_server(w, W, h, alpha, clients):
    h = h - alpha * (W - w).mean(0) / clients
    return W.mean(0) - h / alpha, h


def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    for _ in range(steps):
        w = w - lr * A_train @ (w - mu_train)
    meta = A_val @ (w - mu_val)
    for _ in range(steps):
        meta = meta - lr * A_train @ meta
    return w, meta
