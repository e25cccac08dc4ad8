"""Tensors of torch, through and out: one_hot, scatter_add and distributions."""

import torch
from torch.nn.functional import one_hot


def gradient(theta, arm, score, size, baseline):
    used = one_hot(arm, len(theta)).to(theta.dtype)
    sums = (size * (score - baseline)) @ used / size.sum()
    return torch.where(used.any(0), sums / theta, torch.zeros_like(theta))


def exponentiate(z, gradient, eta):
    return torch.distributions.Categorical(logits=z - eta * gradient).logits


def baseline(trace, gamma):
    trace = torch.tensor(trace or [0.0], dtype=torch.float64)
    weights = gamma ** torch.arange(len(trace)).flip(0)
    return torch.dot(weights.double(), trace) / weights.sum()


def fedex_round(z, trace, arm, score, size, gamma):
    z = z.clone().requires_grad_()
    share = size / size.sum()
    # the slope of sum_i share_i (score_i - lambda) z[arm_i] in theta is that in z over theta
    loss = (share * (score - baseline(trace, gamma)) * z[arm]).sum()
    (slope,) = torch.autograd.grad(loss, z)
    g = torch.where(slope == 0, slope, slope / z.exp())
    step = torch.tensor(2.0).double() * torch.tensor(len(z)).double().log()
    eta = torch.nan_to_num(step.sqrt() / g.abs().amax(), nan=0.0, posinf=0.0)
    trace = torch.tensor(trace, dtype=torch.float64)
    return exponentiate(z, g, eta), torch.cat([trace, (share @ score)[None]])
