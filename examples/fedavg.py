"""FedAvg (McMahan et al., 2017, Algorithm 1) in plain PyTorch, to be read from top to bottom.

    python examples/fedavg.py

Ten clients hold scikit-learn's digits, two digits each. In a round some of them train a copy of the
global model on their own images, and the server averages the copies. It takes about 10 seconds.
"""

import copy

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy


def client_data():
    """Return a list of clients (x, y): the images of two digits each."""
    images, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(images) / 16, torch.tensor(labels)
    order = y.argsort(stable=True).chunk(20)  # 20 shards, sorted by label
    return [
        (x[rows], y[rows]) for rows in (torch.cat([order[i], order[i + 10]]) for i in range(10))
    ]


def local_sgd(model, x, y, lr, batch, epochs, gen):
    """Train a copy of the model on one client's examples."""
    model = copy.deepcopy(model)
    sgd = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for rows in torch.randperm(len(y), generator=gen).split(batch):
            sgd.zero_grad()
            cross_entropy(model(x[rows]), y[rows]).backward()
            sgd.step()
    return model


@torch.no_grad()
def average(models, sizes):
    """Return the average of some models, weighted by their numbers of examples."""
    mean = copy.deepcopy(models[0])
    for p, *own in zip(mean.parameters(), *(m.parameters() for m in models), strict=True):
        p.copy_(sum(n * p_i for n, p_i in zip(sizes, own, strict=True)) / sum(sizes))
    return mean


def train(model, clients, rounds, per_round, lr, batch, epochs, gen):
    """Return the global model after some communication rounds."""
    for _ in range(rounds):
        chosen = torch.randperm(len(clients), generator=gen)[:per_round].tolist()
        trained = [local_sgd(model, *clients[i], lr, batch, epochs, gen) for i in chosen]
        model = average(trained, [len(clients[i][1]) for i in chosen])
    return model


if __name__ == "__main__":
    torch.set_num_threads(1)  # in a network so small more threads only wait for one another
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).double()
    clients, gen = client_data(), torch.Generator().manual_seed(0)
    for t in range(1, 6):
        model = train(model, clients, 10, 5, lr=0.1, batch=16, epochs=2, gen=gen)
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in clients)
        print(f"round {10 * t}: {right / sum(len(y) for _, y in clients):.1%} of all images right")
