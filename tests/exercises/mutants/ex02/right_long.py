"""Entry by entry and client by client, with helpers and prints of the student's own."""

import numpy as np
import torch


def mean(rows):
    total = torch.zeros_like(rows[0])
    for row in rows:
        total += row
    return total / len(rows)


def fedprox_gradient(g, w_i, w, mu):
    out = g.clone()
    for j in range(len(g)):
        out[j] += mu * (w_i[j] - w[j])
    return out


def scaffold_local(x, control_i, control, lr, steps, gradient):
    path = [x]
    for k in range(steps):
        print("step", k)
        corrected = gradient(path[-1]).clone()
        corrected -= control_i
        corrected += control
        path.append(path[-1] - lr * corrected)
    y = path[-1]
    new_control_i = control_i.clone()
    new_control_i -= control
    new_control_i += (x - y) / steps / lr
    return y, new_control_i


def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
    control = control.clone()
    for new, old in zip(new_controls, old_controls, strict=True):
        control += (new - old) / clients
    x = (1 - server_lr) * x + server_lr * mean(ys)
    return x, control


def feddyn_server(w, W, h, alpha, clients):
    moved = 0
    for w_i in W:
        moved = moved + (w_i - w)
    h = h - alpha * moved / clients
    w = mean(W) - h / alpha
    return (w, h)


def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    w_k, jacobian = w.numpy(), np.eye(len(w))
    step = np.eye(len(w)) - lr * A_train.numpy()
    for _ in range(steps):
        w_k = w_k - lr * A_train.numpy() @ (w_k - mu_train.numpy())
        jacobian = step @ jacobian
    meta_gradient = jacobian.T @ A_val.numpy() @ (w_k - mu_val.numpy())
    return torch.from_numpy(w_k.copy()), torch.from_numpy(meta_gradient)


if __name__ == "__main__":
    print("this is not run by the check")
