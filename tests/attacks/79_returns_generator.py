# Generator instead of a list (q4).
# fails: q4
# says: generator|plain
# ruff: noqa


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
    return (p for p in parts)
