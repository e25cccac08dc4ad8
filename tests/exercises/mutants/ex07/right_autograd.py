# The derivatives are PyTorch's: of the loss by the ones, of log p, and of the mean loss.
import numpy as np
import torch
from torch.nn.functional import cross_entropy


def credit(outputs, q, y):
    ones = torch.ones(len(q), dtype=torch.float64, requires_grad=True)
    F = torch.einsum("i,i,imc->mc", torch.tensor(q), ones, torch.tensor(outputs))
    loss = cross_entropy(F, torch.tensor(y))
    loss.backward()
    return loss.item(), ones.grad.numpy()


def score(logits, z):
    a = torch.tensor(logits, requires_grad=True)
    a.log_softmax(1)[torch.arange(len(z)), torch.tensor(z)].sum().backward()
    return a.grad.numpy()


def update(logits, z, d, lr):
    a = torch.tensor(logits, requires_grad=True)
    log_p = a.log_softmax(1)[torch.arange(len(z)), torch.tensor(z)]
    (log_p * torch.tensor(d)).sum().backward()
    return logits - lr * a.grad.numpy()


def directions(outputs, y, logits):
    def gradient(values):
        a = torch.tensor(logits, requires_grad=True)
        (a.softmax(0) * torch.tensor(values)).sum().backward()
        return a.grad.numpy()

    return gradient((outputs - y) * outputs), gradient(np.square(outputs - y) / 2)
