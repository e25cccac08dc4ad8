"""Typical answers to exercise 7, right and wrong."""

import math

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from fedlab_edu.tuners.fedtune import credit as rules
from fedlab_edu.tuners.fedtune.theory import expected
from fedlab_grade.mutants import edits, include, right, wrong


@right
class autograd:
    """The derivatives are PyTorch's: of the loss by the ones, of log p, and of the mean loss."""

    def credit(outputs, q, y):
        ones = torch.ones(len(q), dtype=torch.float64, requires_grad=True)
        F = torch.einsum("i,i,imc->mc", torch.tensor(q), ones, torch.tensor(outputs))
        loss = cross_entropy(F, torch.tensor(y))
        loss.backward()
        return loss.item(), ones.grad.numpy()

    def update(logits, z, d, lr):
        a = torch.tensor(logits, requires_grad=True)
        log_p = a.log_softmax(1)[torch.arange(len(z)), torch.tensor(z)]
        (log_p * torch.tensor(d)).sum().backward()
        return logits - lr * a.grad.numpy()

    def centred(past, d):
        known = torch.tensor(past).masked_fill(~torch.tensor(past).isfinite(), torch.nan)
        moved = (torch.tensor(d) - known.nanmean(0)).nan_to_num(0.0, posinf=torch.inf)
        return torch.where(torch.tensor(d).isfinite(), moved, torch.tensor(d)).numpy()

    def directions(outputs, y, logits):
        def gradient(values):
            a = torch.tensor(logits, requires_grad=True)
            (a.softmax(0) * torch.tensor(values)).sum().backward()
            return a.grad.numpy()

        return gradient((outputs - y) * outputs), gradient(np.square(outputs - y) / 2)


@right
class long:
    """Plain loops over numbers, with helpers and prints of the student's own."""

    def probabilities(row):
        largest = max(row)
        powers = [math.exp(x - largest) for x in row]
        total = sum(powers)
        return [x / total for x in powers]

    def credit(outputs, q, y):
        N, M, C = outputs.shape
        loss = 0.0
        d = [0.0] * N
        for m in range(M):
            F = []
            for c in range(C):
                F.append(sum(q[i] * outputs[i, m, c] for i in range(N)))
            largest = max(F)
            loss += largest + math.log(sum(math.exp(x - largest) for x in F)) - F[y[m]]
            p = probabilities(F)
            for i in range(N):
                for c in range(C):
                    slope = p[c] - 1 if c == y[m] else p[c]
                    d[i] += slope * q[i] * outputs[i, m, c]
        print("loss", loss / M)
        return loss / M, np.array([x / M for x in d])

    def score(row, z):
        return [(1 if h == z else 0) - p for h, p in enumerate(probabilities(row))]

    def update(logits, z, d, lr):
        new = logits.copy()
        for i in range(len(logits)):
            for h, direction in enumerate(score(logits[i], z[i])):
                new[i, h] -= lr * direction * d[i]
        return new

    def centred(past, d):
        answer = []
        for i in range(len(d)):
            total = 0.0
            count = 0
            for t in range(len(past)):
                if not math.isinf(past[t, i]):
                    total += past[t, i]
                    count += 1
            if math.isinf(d[i]):
                answer.append(math.inf)
            elif count == 0:
                answer.append(0.0)
            else:
                answer.append(d[i] - total / count)
        return np.array(answer)

    def directions(outputs, y, logits):
        H = len(logits)
        p = probabilities(logits)
        paper, exact = np.zeros(H), np.zeros(H)
        for z in range(H):
            F = outputs[z]
            for h in range(H):
                entry = (1 if h == z else 0) - p[h]
                paper[h] += p[z] * entry * (F - y) * F
                exact[h] += p[z] * entry * 0.5 * (F - y) ** 2
        return paper, exact

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class package:
    """With the functions of the package, which work on tensors."""

    def credit(outputs, q, y):
        loss, d = rules.credit(outputs, q, y, "cross_entropy")
        return loss, d.numpy()

    def update(logits, z, d, lr):
        return rules.update(logits, z, d, lr).numpy()

    def directions(outputs, y, logits):
        f = torch.tensor(outputs)[None, :, None, None]
        both = expected(logits[None], f, [1.0], [y], "half_squared")
        return both.paper[0].numpy(), both.exact[0].numpy()


@right
class short:
    """Each question in a few expressions, with names of the student's own."""

    from scipy.special import log_softmax, softmax

    def credit(f, share, label):
        weighted = share[:, None, None] * f
        log_p = log_softmax(weighted.sum(axis=0), axis=1)
        rows = range(len(label))
        G = np.exp(log_p)
        G[rows, label] -= 1
        return -log_p[rows, label].mean(), np.tensordot(weighted, G, 2) / len(label)

    def update(a, z, d, lr):
        return a - lr * np.einsum("i,ih->ih", d, np.eye(a.shape[1])[z] - softmax(a, axis=1))

    def centred(past, d):
        known = np.ma.masked_invalid(past)
        return np.where(np.isinf(d), np.inf, (d - known.mean(axis=0)).filled(0.0))

    def directions(F, y, a):
        p = softmax(a)
        d, L = (F - y) * F, (F - y) ** 2 / 2
        return p * (d - p @ d), p * (L - p @ L)


def log_softmax(a):
    return a - np.logaddexp.reduce(a, axis=-1)[..., None]


@edits("ex07.1", {
    "credit d by number": ("d is divided by N in place",
        "q[:, None, None] * outputs", "outputs / len(q)"),
    "credit d mean over classes": ("d is averaged over the classes, too",
        "sum(2).mean(1)", "mean((1, 2))"),
    "credit d of each point": ("d is that of each point", ".mean(1)", ""),
    "credit d of ensemble": ("d has the ensemble's outputs for each client", "* outputs", "* F"),
    "credit d sum": ("d is the sum over the points", "2).mean(1", "(1, 2)"),
    "credit eps in log": ("a small number is added inside the log",
        "(right * log_p).sum(1)", "np.log((right * np.exp(log_p)).sum(1) + 1e-12)"),
    "credit exchanged": ("loss and d are exchanged",
        "-(right * log_p).sum(1).mean(), d", "d, -(right * log_p).sum(1).mean()"),
    "credit label only": ("d has the entry of the label only",
        "np.exp(log_p) -", "(np.exp(log_p) - 1) *"),
    "credit log of mean": ("the loss is the log of a mean",
        "(right * log_p).sum(1).mean()", "np.log((right * np.exp(log_p)).sum(1).mean())"),
    "credit log of p": ("its log infinite: .* the log of the sum of exp(?!,)",
        "(right * log_p).sum(1)", "np.log((right * np.exp(log_p)).sum(1))"),
    "credit log of p times 0": ("0 times infinity is no number",
        "* log_p", "* np.log(np.exp(log_p))"),
    "credit loss mean over classes": ("the loss is averaged over the classes, too", "sum(1).", ""),
    "credit loss of each point": ("these are the losses of the points", ".mean()", ""),
    "credit loss sign": ("the loss has the wrong sign", "return -", "return"),
    "credit loss sum": ("the loss is the sum over the points", "1).mean(", ""),
    "credit means over classes": ("loss and d are averaged over the classes, too",
        "sum(2).mean(1)\n    return -(right * log_p).sum(1)",
        "mean((1, 2))\n    return -(right * log_p)"),
    "credit no log": ("the loss has no logarithm", "* log_p", "* np.exp(log_p)"),
    "credit no onehot": (r"onehot\(y\) is forgotten in d", "- right", ""),
    "credit no q in d": ("q_i is forgotten in d", "q[:, None, None] *", ""),
    "credit no q in f": ("q is forgotten in F",
        'np.einsum("i,imc->mc", q, outputs)', "outputs.sum(0)"),
    "credit no softmax": ("the softmax is forgotten in d", " np.exp(log_p)", ""),
    "credit overflow": ("exp of a large number",
        "logaddexp.reduce(F, axis=1)", "log(np.exp(F).sum(1))"),
    "credit plain mean": ("F is the plain mean of the outputs: it",
        'np.einsum("i,imc->mc", q, outputs)', "outputs.mean(0)"),
    "credit sign": ("this is the credit, -d", "np.exp(log_p) - right", "right - np.exp(log_p)"),
    "credit slope of logits": (r"the slope is F - onehot\(y\) here", "np.exp(log_p)", "F"),
    "credit softmax over points": ("the softmax is taken over the points", "1)[:, None]", "0)"),
    "credit sums": ("loss and d are sums over the points",
        "(2).mean(1)\n    return -(right * log_p).sum(1).mean",
        "((1, 2))\n    return -(right * log_p).sum"),
})  # fmt: skip
def credit(outputs, q, y):
    F = np.einsum("i,imc->mc", q, outputs)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (q[:, None, None] * outputs * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


@wrong("ex07.1", "credit d of own loss", "d is that of the client's own loss: the")
def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    F = np.tensordot(q, outputs, 1)
    log_p = log_softmax(F)
    own = log_softmax(outputs)
    d = q * ((np.exp(own) - right) * outputs).sum((1, 2)) / len(y)
    return -(right * log_p).sum(1).mean(), d


@wrong(
    "ex07.1",
    "credit d of own loss without q",
    "d is that of the client's own loss, and without q_i",
)
def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    F = np.tensordot(q, outputs, 1)
    log_p = log_softmax(F)
    own = log_softmax(outputs)
    d = ((np.exp(own) - right) * outputs).sum((1, 2)) / len(y)
    return -(right * log_p).sum(1).mean(), d


@wrong("ex07.1", "credit d of probabilities", "d has the clients' probabilities")
def credit(outputs, q, y):
    F = np.einsum("i,imc->mc", q, outputs)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    outputs = np.exp(outputs - np.logaddexp.reduce(outputs, axis=2)[:, :, None])
    d = (q[:, None, None] * outputs * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


@wrong("ex07.1", "credit of columns", "these columns of all points.* in the loss and in d")
def credit(outputs, q, y):
    F = np.einsum("i,imc->mc", q, outputs)
    p = np.exp(log_softmax(F))
    loss = -np.log(p[:, y]).mean()
    p[:, y] -= 1
    return loss, q * np.einsum("imc,mc->i", outputs, p) / len(y)


@wrong("ex07.1", "credit equal shares", "all clients have the same share here")
def credit(outputs, q, y):
    F = outputs.mean(0)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (outputs / len(q) * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


@wrong("ex07.1", "credit in place", "changed its argument outputs")
def credit(outputs, q, y):
    outputs *= q[:, None, None]
    F = outputs.sum(0)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (outputs * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


@wrong("ex07.1", "credit math exp", "exp of a large number is too large for a float: subtract")
def credit(outputs, q, y):
    loss, d = 0.0, np.zeros(len(q))
    for m, label in enumerate(y):
        F = q @ outputs[:, m]
        p = [math.exp(x) for x in F]
        p = np.array([x / sum(p) for x in p])
        loss -= math.log(p[label])
        p[label] -= 1
        d += q * (outputs[:, m] @ p)
    return loss / len(y), d / len(y)


@wrong("ex07.1", "credit mean of losses", "the loss is the mean of the clients' own losses")
def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    F = np.tensordot(q, outputs, 1)
    log_p = log_softmax(F)
    own = log_softmax(outputs)
    losses = -(right * own).sum(2).mean(1)
    d = q * ((np.exp(log_p) - right) * outputs).sum((1, 2)) / len(y)
    return q @ losses, d


@wrong("ex07.1", "credit mixture", "the softmax is taken of each client, and then averaged, and d")
def credit(outputs, q, y):
    each = np.exp(log_softmax(outputs))
    p = np.tensordot(q, each, 1)
    rows = np.arange(len(y))
    d = -q * (each[:, rows, y] / p[rows, y]).mean(1)
    return -np.log(p[rows, y]).mean(), d


@wrong("ex07.1", "credit no q", "q is forgotten, in F and in d")
def credit(outputs, q, y):
    F = outputs.sum(0)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (outputs * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


@wrong("ex07.1", "credit own models", "loss and d are those of the clients' own models")
def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    own = log_softmax(outputs)
    losses = -(right * own).sum(2).mean(1)
    d = q * ((np.exp(own) - right) * outputs).sum((1, 2)) / len(y)
    return q @ losses, d


@wrong("ex07.1", "credit plain mean no q", "F is the plain mean of the outputs, and d without q_i")
def credit(outputs, q, y):
    F = outputs.mean(0)
    log_p = F - np.logaddexp.reduce(F, axis=1)[:, None]
    right = np.eye(F.shape[1])[y]
    slope = np.exp(log_p) - right
    d = (outputs * slope).sum(2).mean(1)
    return -(right * log_p).sum(1).mean(), d


@wrong(
    "ex07.1",
    "credit softmax of each",
    "the softmax is taken of each client, and then averaged: add",
)
def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    each = np.exp(log_softmax(outputs))
    p = np.tensordot(q, each, 1)
    d = q * ((p - right) * outputs).sum((1, 2)) / len(y)
    return -np.log(p[np.arange(len(y)), y]).mean(), d


@wrong("ex07.1", "credit softmax twice", "a softmax is taken twice")
def credit(outputs, q, y):
    right = np.eye(outputs.shape[2])[y]
    each = np.exp(log_softmax(outputs))
    p = np.tensordot(q, each, 1)
    log_p = log_softmax(p)
    d = q * ((np.exp(log_p) - right) * each).sum((1, 2)) / len(y)
    return -(right * log_p).sum(1).mean(), d


@edits("ex07.2", {
    "score columns": (r"p\[:, z\] means these columns in all rows",
        "return np.eye(p.shape[1])[z] -", "p = -p\n        p[:, z] += 1\n        return"),
    "score entry only": ("only the drawn entry moves", "[z] - p", "[z] * (1 - p)"),
    "score keepdims": ("lacks keepdims=True",
        "np.logaddexp.reduce(logits, axis=1)[:, None]", "logits.max())\n        p = p / p.sum(1"),
    "score logits": ("the logits are subtracted in the score", "[z] - p", "[z] - logits"),
    "score no onehot": (r"onehot\(z_i\) is forgotten in the score", " np.eye(p.shape[1])[z]", ""),
    "score no softmax": ("the softmax is forgotten", "[z] - p", "[z]"),
    "score not normalised": ("exp of the logits is not divided by its sum",
        "- np.logaddexp.reduce(logits, axis=1)[:, None]", ""),
    "score of all": ("one softmax is taken of all logits", ", axis=1)[:, None]", ".ravel())"),
    "score over clients": ("the softmax is taken over the clients", "1)[:, None]", "0)"),
    "score raw": ("1 / p - 1 is for p itself", "[z] - p", "[z] / p - 1"),
    "score raw drawn": ("this divides by the probability that was drawn", "[z] - p", "[z] / p"),
    "score sign": ("the step has the wrong sign",
        "np.eye(p.shape[1])[z] - p", "p - np.eye(p.shape[1])[z]"),
})  # fmt: skip
def update(logits, z, d, lr):
    def score(logits, z):
        p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
        return np.eye(p.shape[1])[z] - p

    return logits - lr * d[:, None] * score(logits, z)


@edits("ex07.2", {
    "update axis of d": (r"its second axis, as in d\[:, None\]", "d[:, None]", "d"),
    "update change only": ("this is the change: add the logits", " logits", ""),
    "update drawn only": ("only the drawn entry moves", "[z] - p", "[z] * (1 - p)"),
    "update mean of d": ("the mean of d is taken for all", "d[:, None]", "d.mean()"),
    "update no d": ("d_i is forgotten", " d[:, None] *", ""),
    "update no lr": ("lr is forgotten", "- lr *", "-"),
    "update no softmax": ("the softmax is forgotten",
        "(np.eye(p.shape[1])[z] - p)", "np.eye(p.shape[1])[z]"),
    "update of p": ("the probabilities are moved", " logits", " p"),
    "update other d": ("d is taken in another order", "* d[:,", "* d[::-1,"),
    "update over clients": ("the softmax is taken over the clients", "1)[:, None]", "0)"),
    "update raw": ("this divides by the probability that was drawn", "[z] - p", "[z] / p"),
    "update sign": ("the step has the wrong sign", "- lr *", "+ lr *"),
    "update sum of d": ("the sum of d is taken for all", "d[:, None]", "d.sum()"),
})  # fmt: skip
def update(logits, z, d, lr):
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    return logits - lr * d[:, None] * (np.eye(p.shape[1])[z] - p)


@wrong("ex07.2", "score gradient of p", "the score is the gradient of p here")
def update(logits, z, d, lr):
    def score(logits, z):
        p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
        return p[np.arange(len(z)), z][:, None] * (np.eye(p.shape[1])[z] - p)

    return logits - lr * d[:, None] * score(logits, z)


@wrong("ex07.2", "score in place", "changed its argument logits")
def update(logits, z, d, lr):
    def score(logits, z):
        logits -= logits.max(1, keepdims=True)
        p = np.exp(logits)
        p = p / p.sum(1, keepdims=True)
        return np.eye(p.shape[1])[z] - p

    return logits - lr * d[:, None] * score(logits, z)


@wrong("ex07.2", "update in place", "changed its argument logits")
def update(logits, z, d, lr):
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    logits -= lr * d[:, None] * (np.eye(p.shape[1])[z] - p)
    return logits


@wrong("ex07.2", "update divided by sum", "the logits are divided by their new sum")
def update(logits, z, d, lr):
    new = logits - lr * d[:, None] * (np.eye(logits.shape[1])[z] - softmax(logits))
    return new / new.sum(axis=1, keepdims=True)


@wrong("ex07.2", "update made a distribution", "the result is made a distribution")
def update(logits, z, d, lr):
    return softmax(logits - lr * d[:, None] * (np.eye(logits.shape[1])[z] - softmax(logits)))


@wrong("ex07.3", "centred all clients", "one mean is taken over all clients")
def centred(past, d):
    finite = np.isfinite(past)
    if not finite.any():
        return np.where(np.isfinite(d), 0.0, np.inf)
    moved = np.where(finite.any(axis=0), d - past[finite].mean(), 0.0)
    return np.where(np.isfinite(d), moved, np.inf)


@wrong("ex07.3", "centred diverged as 0", "rounds in which a client diverged count as 0")
def centred(past, d):
    known = np.where(np.isfinite(past), past, 0.0)
    mean = known.sum(axis=0) / max(1, len(past))
    moved = np.where(np.isfinite(past).any(axis=0), d - mean, 0.0)
    return np.where(np.isfinite(d), moved, np.inf)


@wrong("ex07.3", "centred first round", "without an earlier number this is d itself")
def centred(past, d):
    answer = d.copy()
    for i in range(len(d)):
        known = past[np.isfinite(past[:, i]), i]
        if len(known):
            answer[i] -= known.mean()
    return answer


@wrong("ex07.3", "centred inf counts", "inf counts in the mean here")
def centred(past, d):
    answer = np.zeros(len(d))
    for i in range(len(d)):
        if not np.isfinite(d[i]):
            answer[i] = np.inf
        elif np.isfinite(past[:, i]).any():
            answer[i] = d[i] - past[:, i].mean()
    return answer


@wrong("ex07.3", "centred in place", "changed its argument d")
def centred(past, d):
    for i in range(len(d)):
        known = [x for x in past[:, i] if np.isfinite(x)]
        if np.isfinite(d[i]):
            d[i] = d[i] - sum(known) / len(known) if known else 0.0
    return d


@wrong("ex07.3", "centred last round", "this subtracts the d of the last round")
def centred(past, d):
    finite = np.isfinite(past).any(axis=0)
    last = past[-1] if len(past) else np.zeros(len(d))
    return np.where(np.isfinite(d), np.where(finite, d - last, 0.0), np.inf)


@wrong("ex07.3", "centred mean alone", "this is the mean itself")
def centred(past, d):
    finite = np.isfinite(past)
    return np.where(finite, past, 0.0).sum(axis=0) / np.maximum(1, finite.sum(axis=0))


@wrong("ex07.3", "centred NaN", "without an earlier number this is no number")
def centred(past, d):
    known = np.where(np.isfinite(past), past, np.nan)
    count = np.isfinite(known).sum(axis=0)
    mean = np.nansum(known, axis=0) / np.where(count, count, np.nan)
    return np.where(np.isfinite(d), d - mean, np.inf)


@wrong("ex07.3", "centred now counts", "the d of this round counts in the mean")
def centred(past, d):
    every = np.vstack([past, d])
    finite = np.isfinite(every)
    mean = np.where(finite, every, 0.0).sum(axis=0) / np.maximum(1, finite.sum(axis=0))
    moved = np.where(np.isfinite(past).any(axis=0), d - mean, 0.0)
    return np.where(np.isfinite(d), moved, np.inf)


@wrong("ex07.3", "centred over clients", "the mean is taken over the clients of this round")
def centred(past, d):
    moved = d - d[np.isfinite(d)].mean() if np.isfinite(d).any() else d
    moved = np.where(np.isfinite(past).any(axis=0), moved, 0.0)
    return np.where(np.isfinite(d), moved, np.inf)


@wrong("ex07.3", "centred sign", "this is the mean minus d")
def centred(past, d):
    finite = np.isfinite(past)
    count = finite.sum(axis=0)
    mean = np.where(finite, past, 0.0).sum(axis=0) / np.maximum(1, count)
    return np.where(np.isfinite(d), np.where(count > 0, mean - d, 0.0), np.inf)


@wrong("ex07.3", "centred stays where inf", "where d is inf the client does not move")
def centred(past, d):
    finite = np.isfinite(past)
    count = finite.sum(axis=0)
    mean = np.where(finite, past, 0.0).sum(axis=0) / np.maximum(1, count)
    return np.where((count > 0) & np.isfinite(d), d - mean, 0.0)


@wrong("ex07.3", "centred sum", "this subtracts the sum of the earlier d")
def centred(past, d):
    finite = np.isfinite(past)
    total = np.where(finite, past, 0.0).sum(axis=0)
    return np.where(np.isfinite(d), np.where(finite.any(axis=0), d - total, 0.0), np.inf)


@edits("ex07.4", {
    "directions by f": ("paper has the derivative with respect to F", "* outputs", ""),
    "directions credit": ("paper has the credit, -d", "return", "return -"),
    "directions d doubled": (r"paper has 2 \(F - y\) F", "error *", "2 * error *"),
    "directions draws": ("these are the draws one by one",
        "@ scores, (p * error**2 / 2) @", "[:, None] * scores, (p * error**2 / 2)[:, None] *"),
    "directions exchanged": ("paper and exact are exchanged",
        "* outputs) @ scores, (p * error**2 / 2", "**2 / 2) @ scores, (p * error * outputs"),
    "directions no half": ("the loss has no 1/2(?!,)", "**2 / 2", "**2"),
    "directions no half anywhere": ("the loss has no 1/2, and d a 2",
        "error * outputs) @ scores, (p * error**2 /",
        "2 * error * outputs) @ scores, (p * error**"),
    "directions no onehot": (r"the score has no onehot\(z\)",
        "eye(len(p)) - p", "tile(-p, (len(p), 1))"),
    "directions no softmax": ("the score has no softmax", "- p", ""),
    "directions not weighted": ("the draws are not weighted",
        "p * error * outputs) @ scores, (p *", "error * outputs) @ scores, ("),
    "directions only paper": ("expected the 2 values paper, exact",
        ", (p * error**2 / 2) @ scores", ""),
    "directions raw": ("the score is divided by the probabilities", "- p", "/ p - 1"),
    "directions rows and columns": ("rows and columns of the scores are exchanged",
        "(p * error * outputs) @ scores, (p * error**2 / 2) @ scores",
        "scores @ (p * error * outputs), scores @ (p * error**2 / 2)"),
    "directions sign": ("both have the other sign", "np.eye(len(p)) - p", "p - np.eye(len(p))"),
})  # fmt: skip
def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    scores = np.eye(len(p)) - p
    error = outputs - y
    return (p * error * outputs) @ scores, (p * error**2 / 2) @ scores


@wrong("ex07.4", "directions in place", "changed its argument outputs")
def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    scores = np.eye(len(p)) - p
    d = outputs * (outputs - y)
    outputs -= y
    return (p * d) @ scores, (p * outputs**2 / 2) @ scores


@wrong("ex07.4", "directions means", "these are the means of d and of L")
def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    error = outputs - y
    return (p * error * outputs).sum(), (p * error**2 / 2).sum()


@wrong("ex07.4", "directions own draw only", "only the draw of a candidate moves its entry")
def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    error = outputs - y
    return p * (1 - p) * error * outputs, p * (1 - p) * error**2 / 2


@wrong("ex07.4", "directions plain mean", "this is the plain mean over the draws")
def directions(outputs, y, logits):
    p = np.exp(logits - np.logaddexp.reduce(logits))
    paper, exact = [], []
    for z in range(len(p)):
        one = np.eye(len(p))[z] - p
        paper.append(one * (outputs[z] - y) * outputs[z])
        exact.append(one * (outputs[z] - y) ** 2 / 2)
    return np.mean(paper, axis=0), np.mean(exact, axis=0)


include("experiments.py", "ex07.5")
