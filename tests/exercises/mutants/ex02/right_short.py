# Formulas multiplied out, names reused, and each question in one or two expressions.
import torch


def fedprox_gradient(g, w_i, w, mu):
    return torch.add(g, w_i, alpha=mu) - mu * w


def scaffold_local(x, control_i, control, lr, steps, gradient):
    drift, y, seen = control - control_i, x, 0
    for _ in range(steps):
        g = gradient(y)
        y, seen = y - lr * (g + drift), seen + g
    return [y, seen / steps]  # the mean of the gradients is the same as the question's formula


def scaffold_server(x, c, ys, new, old, server_lr, clients):
    return torch.lerp(x, ys.mean(0), server_lr), c + (new.sum(0) - old.sum(0)) / clients


def feddyn_server(w, W, h, alpha, m):
    h = h + alpha * len(W) / m * (w - W.mean(0))
    return W.mean(0) - h / alpha, h


def maml_gradient(w, A, mu, A_val, mu_val, lr, steps):
    J = torch.linalg.matrix_power(torch.eye(len(w)).double() - lr * A, steps)
    adapted = mu + J @ (w - mu)
    return adapted, (adapted - mu_val) @ A_val @ J
