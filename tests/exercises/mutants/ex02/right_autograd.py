"""Every gradient by automatic differentiation; the answers stay part of a graph."""

import torch


def gradient_of(loss, at):
    at = at.clone().requires_grad_()
    return torch.autograd.grad(loss(at), at)[0]


def fedprox_gradient(g, w_i, w, mu):
    return gradient_of(lambda v: g @ v + mu / 2 * ((v - w) ** 2).sum(), w_i)


def scaffold_local(x, control_i, control, lr, steps, gradient):
    y = x.clone().requires_grad_()
    for _ in range(steps):
        y = y - lr * (gradient(y.detach()) - control_i + control)
    print("y", y)
    return y, control_i - control + (x - y) / (steps * lr)


def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
    mean_y = gradient_of(lambda v: (ys @ v).mean(), x)
    total = gradient_of(lambda v: ((new_controls - old_controls) @ v).sum(), x)
    return x + server_lr * (mean_y - x), control + total / clients


def feddyn_server(w, W, h, alpha, clients):
    h = h - alpha / clients * sum(w_i - w for w_i in W)
    # the minimum of alpha/2 |v - mean|^2 + <h, v>, one Newton step from w away
    slope = gradient_of(lambda v: alpha / 2 * ((v - W.mean(0)) ** 2).sum() + h @ v, w)
    return w - slope / alpha, h


def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    start = w.clone().requires_grad_()
    adapted = start
    for _ in range(steps):
        adapted = adapted - lr * A_train @ (adapted - mu_train)
    loss = (adapted - mu_val) @ A_val @ (adapted - mu_val) / 2
    (meta_gradient,) = torch.autograd.grad(loss, start)
    return adapted, meta_gradient
