"""Tensors of torch, through and out."""

import torch


def rounds_used(stops, arms, eta):
    stops = torch.tensor(stops)
    living = torch.tensor([arms // eta**r for r in range(len(stops))]).clamp(min=1)
    return (living * stops.diff(prepend=torch.zeros(1, dtype=torch.int64))).sum()


def schedule(total, cap, eta, eliminations):
    costs = eta ** torch.arange(eliminations, 0, -1) - 1
    least = torch.div(total - cap, costs.sum(), rounding_mode="floor")
    if least < 1:
        raise ValueError("total")
    left, more = total - cap - least * costs.sum(), []
    for cost in costs:
        more.append(left // cost)
        left = left % cost
    stops = (least + torch.stack(more)).cumsum(0)
    if stops[-1] > cap:
        raise ValueError("cap")
    return torch.cat([stops, torch.tensor([cap])])


def survivors(scores, eta):
    scores = torch.tensor(scores).nan_to_num(nan=torch.inf, posinf=torch.inf)
    order = scores.argsort(stable=True)
    return order[: max(1, len(scores) // eta)].sort().values


def discounted_mean(trace, gamma):
    trace = torch.tensor(trace, dtype=torch.float64)
    weights = gamma ** torch.arange(len(trace)).flip(0)
    return (weights * trace).sum() / weights.sum()


def perturb(c, low, high, eps, u, whole):
    width = torch.tensor((high - low) * eps, dtype=torch.float64)
    if whole:
        h = (width - 1e-9).ceil().long()
        return (c - h + (u * (2 * h + 1)).long()).clamp(low, high)
    return torch.lerp(c - width, c + width, u).clamp(low, high)
