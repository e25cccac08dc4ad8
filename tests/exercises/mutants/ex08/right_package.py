"""With the functions of the package, which work on tensors."""

import torch

from fedlab_edu.laws import Choice, Uniform
from fedlab_edu.tuners import population


def draws(*arrays):
    return torch.stack([torch.tensor(x) for x in arrays])


def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    return Uniform(a, b).evo(torch.tensor(h), eps, p_re, draws(coin, fresh, u)).numpy()


def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    law = Choice(tuple(range(n)))
    return law.evo(torch.tensor(i), eps, p_re, draws(coin, fresh, u)).long().numpy()


def top_and_bottom(scores, rho):
    return population.ranked(scores.tolist(), rho)


def exploit(hp, weights, top, bottom, u, evolve):
    pairs = [(b, top[int(u[b] * len(top))]) for b in bottom if top]
    new_hp = population.succeed(hp, pairs, evolve)
    new_weights = population.succeed(weights, pairs, lambda w, b: w)
    return tuple(draws(*rows).numpy() for rows in (new_hp, new_weights))
