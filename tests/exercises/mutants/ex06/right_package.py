"""With the functions of the package, which work on tensors."""

import torch

from fedlab_edu.oco.bandit import move
from fedlab_edu.oco.bounds import bandit_eta, grid_size, ogd_bound, step_grid
from fedlab_edu.oco.losses import Losses
from fedlab_edu.oco.ogd import ogd as play


def ogd(z, w, c, radius):
    played = play(Losses("quadratic", z), w, c, radius)
    return played.trajectory.numpy(), played.total.item()


def bandit_step(z, arm, loss, eta):
    z = torch.tensor(z)
    losses = torch.full_like(z, loss)
    return move(z, z.exp(), torch.tensor(arm), losses, eta).numpy()


def constants(D, G, b, m, tau):
    k = grid_size(D, G, b, m, tau)
    return k, step_grid(D, G, m, k).numpy(), bandit_eta(b, m, tau, k)


def best_step(distances, c, G, m):
    bounds = ogd_bound(distances[:, None], c, G, m).mean(0)
    return bounds.min().item(), bounds.argmin().item()
