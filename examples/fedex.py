"""FedEx (Khodak et al., 2021, Algorithm 2) in plain PyTorch, to be read from top to bottom.

    python examples/fedex.py

As FedAvg, see fedavg.py beside it; but each client of a round trains with a configuration that it
draws from a table, and its score on its own validation images moves the distribution theta.
"""

import math

import torch
from fedavg import average, client_data, local_sgd
from torch import nn


@torch.no_grad()
def error(model, x, y):
    """Return the share of examples that are wrong."""
    return float((model(x).argmax(1) != y).double().mean())


def train(model, theta, lam, table, clients, per_round, gen):
    """Return global model, theta and the mean score after one communication round.

    Args:
        lam: the baseline lambda, the mean score of the round before; 0 in the first round.
        table: k configurations, a list of dicts of arguments of `local_sgd`.
        clients: training and validation examples (x, y, x_val, y_val) of each.
    """
    chosen = torch.randperm(len(clients), generator=gen)[:per_round].tolist()
    # c_i ~ D_theta
    rows = torch.multinomial(theta, per_round, replacement=True, generator=gen)
    trained, scores = [], []
    for i, j in zip(chosen, rows.tolist(), strict=True):
        x, y, x_val, y_val = clients[i]
        trained.append(local_sgd(model, x, y, **table[j], gen=gen))
        scores.append(error(trained[-1], x_val, y_val))
    model = average(trained, [len(clients[i][1]) for i in chosen])
    return model, *step(theta, rows, scores, [len(clients[i][3]) for i in chosen], lam)


def step(theta, rows, scores, sizes, lam):
    """Return the next theta, and the mean score as the next baseline lambda."""
    score = torch.tensor(scores, dtype=torch.float64)
    p = torch.tensor(sizes, dtype=torch.float64) / sum(sizes)
    # g_j <- sum_{i: c_i = c_j} p_i (L_i - lambda) / theta_j
    g = torch.zeros_like(theta).index_add(0, rows, p * (score - lam)) / theta
    largest = g.abs().max()
    # eta <- sqrt(2 ln k) / max_j |g_j|
    eta = math.sqrt(2 * math.log(len(theta))) / largest if largest > 0 else 0.0
    # theta <- theta exp(-eta g), normalised
    return (theta.log() - eta * g).softmax(0), float(p @ score)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).double()
    clients, gen = [], torch.Generator().manual_seed(0)
    for x, y in client_data():
        rows = torch.randperm(len(y), generator=gen)
        held, kept = rows[: len(y) // 5], rows[len(y) // 5 :]
        clients.append((x[kept], y[kept], x[held], y[held]))
    table = [{"lr": lr, "batch": 16, "epochs": 1} for lr in (0.001, 0.01, 0.1, 1.0)]
    theta, lam = torch.full((4,), 1 / 4, dtype=torch.float64), 0.0
    for t in range(1, 51):
        model, theta, lam = train(model, theta, lam, table, clients, 5, gen)
        if t % 10 == 0:
            shown = ", ".join(f"{p:.3f}" for p in theta.tolist())
            print(f"round {t}: {lam:.1%} wrong after local training; theta: {shown}")
