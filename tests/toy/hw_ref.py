"""The toy assignment: a right answer."""

# ruff: noqa
import torch


def fedavg(states, weights):
    """Weighted mean of state dicts."""
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}


def log_uniform(lo, hi, n, seed):
    """n draws, log-uniform on [lo, hi], reproducible from seed alone."""
    g = torch.Generator().manual_seed(seed)
    u = torch.rand(n, generator=g, dtype=torch.float64)
    return torch.exp(
        torch.log(torch.tensor(lo, dtype=torch.float64)) * (1 - u)
        + torch.log(torch.tensor(hi, dtype=torch.float64)) * u
    )


def successive_halving(objective, configs, min_budget, eta):
    """Best config by successive halving; objective(config, budget) -> loss."""
    budget = min_budget
    while len(configs) > 1:
        losses = [objective(c, budget) for c in configs]
        order = sorted(range(len(configs)), key=losses.__getitem__)
        configs = [configs[i] for i in order[: max(1, len(configs) // eta)]]
        budget *= eta
    return configs[0]


def dirichlet_split(labels, n_clients, alpha, seed):
    """Indices per client, label-skewed by Dirichlet(alpha)."""
    torch.manual_seed(seed)
    parts = [[] for _ in range(n_clients)]
    for c in labels.unique():
        idx = (labels == c).nonzero().flatten()
        idx = idx[torch.randperm(len(idx))]
        p = torch.distributions.Dirichlet(torch.full((n_clients,), float(alpha))).sample()
        cuts = (p.cumsum(0)[:-1] * len(idx)).long().tolist()
        for i, (a, b) in enumerate(zip([0] + cuts, cuts + [len(idx)])):
            parts[i] += idx[a:b].tolist()
    return parts
