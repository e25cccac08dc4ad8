"""Typical answers to exercise 5, right and wrong."""

import math

import numpy as np
from numpy.linalg import lstsq

from fedlab_grade.mutants import edits, include, right, wrong


@right
class augmented:
    """The intercept belongs to a column of ones, and features are picked by multiplication."""

    def shared_fit(X, y, classes, lam):
        T = -np.ones((len(y), classes))
        T[np.arange(len(y)), y] = 1
        A = np.hstack([X, np.ones((len(X), 1))])
        penalty = lam * np.eye(A.shape[1])
        penalty[-1, -1] = 0
        solved = np.linalg.solve(A.T @ A + penalty, A.T @ T)
        return solved[:-1], solved[-1]

    def halve(scores, alive):
        ranked = sorted(
            (np.isnan(s) or s == np.inf, s, i) for i, s in enumerate(scores) if alive[i]
        )
        ranked = [(1, 0, i) if bad else (0, s, i) for bad, s, i in ranked]
        ranked.sort()
        best = [i for _, _, i in ranked[: (len(ranked) + 1) // 2]]
        p = 0 * alive.astype(float)
        p[best] = 1
        return p / p.sum()


@right
class long:
    """Plain loops over numbers, with helpers and prints of the student's own."""

    def gauss(A, right):
        A, right = A.copy(), right.copy()
        for i in range(len(A)):
            pivot = i + np.argmax(abs(A[i:, i]))
            A[[i, pivot]], right[[i, pivot]] = A[[pivot, i]], right[[pivot, i]]
            for j in range(len(A)):
                if j != i:
                    factor = A[j, i] / A[i, i]
                    A[j] -= factor * A[i]
                    right[j] -= factor * right[i]
        return right / np.diag(A)[:, None]

    def shared_fit(X, y, classes, lam):
        N, n = X.shape
        targets = np.full((N, classes), -1.0)
        for i in range(N):
            targets[i, y[i]] = 1.0
        means = [sum(X[:, a]) / N for a in range(n)]
        target_means = [sum(targets[:, c]) / N for c in range(classes)]
        A, right = np.zeros((n, n)), np.zeros((n, classes))
        for i in range(N):
            for a in range(n):
                for other in range(n):
                    A[a, other] += (X[i, a] - means[a]) * (X[i, other] - means[other])
                for c in range(classes):
                    right[a, c] += (X[i, a] - means[a]) * (targets[i, c] - target_means[c])
        for a in range(n):
            A[a, a] += lam
        W = gauss(A, right)
        b = [target_means[c] - sum(means[a] * W[a, c] for a in range(n)) for c in range(classes)]
        return W, np.array(b)

    def value(score):
        return math.inf if math.isnan(score) else score

    def halve(scores, alive):
        living = [i for i in range(len(scores)) if alive[i]]
        stays = []
        for _ in range(math.ceil(len(living) / 2)):
            best = None
            for i in living:
                if i not in stays and (best is None or value(scores[i]) < value(scores[best])):
                    best = i
            stays.append(best)
        p = np.zeros(len(scores))
        for i in stays:
            p[i] = 1 / len(stays)
        return p

    def soften(p, errors, eta):
        best = min(errors.tolist())
        new = [p[i] * math.exp(eta * (best - errors[i])) for i in range(len(p))]
        return np.array([each / sum(new) for each in new])

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class lstsq:
    """More rows in place of the penalty; the sum of angles in place of the offset."""

    def shared_fit(X, y, classes, lam):
        targets = np.array([[1.0 if label == c else -1.0 for c in range(classes)] for label in y])
        n = X.shape[1]
        rows = np.block([[X, np.ones((len(X), 1))], [np.sqrt(lam) * np.eye(n), np.zeros((n, 1))]])
        solved, *_ = lstsq(rows, np.vstack([targets, np.zeros((n, classes))]))
        return solved[:n], solved[n]

    def halve(scores, alive):
        scores = scores.copy()
        scores[np.isnan(scores)] = np.inf
        better = (scores < scores[:, None]) & alive
        equal = (scores == scores[:, None]) & alive
        before = better.sum(1) + np.tril(equal, -1).sum(1)
        n = np.count_nonzero(alive)
        return np.where(alive & (before < n / 2), 1 / np.ceil(n / 2), 0)


@right
class short:
    """Each question in a few expressions, with names of the student's own."""

    def shared_fit(x, labels, classes, penalty):
        t = np.where(np.equal.outer(labels, range(classes)), 1, -1)
        z = x - x.mean(0)
        w = np.linalg.solve(z.T @ z + np.diag([penalty] * x.shape[1]), z.T @ t)
        return [w, (t - x @ w).mean(axis=0)]

    def halve(s, alive):
        order = np.lexsort((np.nan_to_num(s, nan=np.inf, posinf=np.inf, neginf=-np.inf), ~alive))
        places = (alive.sum() + 1) // 2
        return (order.argsort() < places) / places

    def soften(p, e, eta):
        z = np.log(p) - eta * e
        return np.exp(z - np.logaddexp.reduce(z))


@right
class svd:
    """The fit by singular values, or by as many unknowns as there are examples."""

    def shared_fit(X, y, classes, lam):
        targets = 2 * (y[:, None] == np.arange(classes)[None]).astype(np.float64) - 1
        mean = X.mean(axis=0, keepdims=True)
        if len(X) < X.shape[1]:
            Z = X - mean
            W = Z.T @ np.linalg.solve(Z @ Z.T + lam * np.eye(len(Z)), targets - targets.mean(0))
        else:
            u, s, vt = np.linalg.svd(X - mean, full_matrices=False)
            W = vt.T @ np.diag(s / (s**2 + lam)) @ u.T @ targets
        return W, np.mean(targets, 0) - (mean @ W)[0]

    def halve(scores, alive):
        alive = alive.copy()
        keys = [np.inf if s != s else s for s in scores]
        for _ in range(alive.sum() // 2):
            worst = max(keys[i] for i in range(len(keys)) if alive[i])
            alive[max(i for i in range(len(keys)) if alive[i] and keys[i] == worst)] = False
        return alive / alive.sum()


@right
class sorted_clients:
    """Groups of clients with equal rows, and another prediction."""

    def weights_round(p, rows, scores, tau, divide):
        new = []
        for i, p_i in enumerate(p):
            own = scores[rows == i].sum()
            new.append(p_i * math.exp(-own / (p_i if divide else 1) / math.sqrt(tau)))
        return [p_i / sum(new) for p_i in new] * np.ones(len(p))

    def predict_4():
        return "to 1/2"

    def reading_4():
        return (
            "I was wrong: p stays neither at 1/2 nor goes to 1, it rests at 0.80 and 0.67! That is "
            "1/s, divided by its sum. With other noise it may not come to rest."
        )


@right
class logarithms:
    """A sum of logarithms, one client after the other."""

    def weights_round(p, rows, scores, tau, divide):
        z = np.log(p)
        for row, score in zip(rows, scores, strict=True):
            z[row] = z[row] - (score / p[row] if divide else score) / tau**0.5
        z = z - z.max()
        return np.exp(z) / np.exp(z).sum()


@edits("ex05.1", {
    "fit b mean of targets": ("b is the mean of t only", "- x0 @ W", ""),
    "fit b plus": ("b has plus the mean of x", ", t0 -", ", t0 +"),
    "fit b sign": ("b has the wrong sign", "t0 - x0 @ W", "x0 @ W - t0"),
    "fit b without mean of targets": ("b has only minus the mean of x", ", t0 -", ", -"),
    "fit b zero": ("b is 0: it is the mean of t", "t0 - x0 @ W", "np.zeros(classes)"),
    "fit classes that occur": ("there are only as many classes as y has",
        "(classes)", "(y.max() + 1)"),
    "fit exchanged": ("W and b are exchanged", "W, t0 - x0 @", "t0 - x0 @ W,"),
    "fit half centred": ("the mean of x is not subtracted in X'X",
        "(X - x0).T @ (X - x0)", "X.T @ X"),
    "fit lam double": ("lam is doubled", " + lam", " + 2 * lam"),
    "fit lam half": ("lam is halved", " + lam", " + lam / 2"),
    "fit lam in all entries": ("lam is added to all entries", "* np.eye(X.shape[1])", ""),
    "fit lam one": ("lam plays no part, as if it were 1", " lam *", ""),
    "fit lam squared": ("lam is squared", " + lam", " + lam**2"),
    "fit lam subtracted": ("lam is subtracted", " + lam", " - lam"),
    "fit lam times number": ("lam is multiplied by N", " lam *", " lam * len(X) *"),
    "fit mean of squares": ("the squares are averaged, not added up", " + lam", " + lam / len(X)"),
    "fit no lam": ("lam is missing", "+ lam * np.eye(X.shape[1])", ""),
    "fit nothing": ("there is no `return`", "return W, t0 - x0 @ W", "print(W, t0 - x0 @ W)"),
    "fit one class": (r"expected \[.*\]\. $",
        "2.0 * np.eye(classes)[y] - 1", "np.where(y[:, None] == 0, 1.0, -1.0) * np.ones(classes)"),
    "fit only w": ("the 2 values W, b", ", t0 - x0 @ W", ""),
    "fit targets are labels": ("the targets are the numbers of the classes",
        "2.0 * np.eye(classes)[y] - 1", "y.astype(float)"),
    "fit targets signs": ("the targets have the wrong signs",
        "2.0 * np.eye(classes)[y] - 1", "1 - 2.0 * np.eye(classes)[y]"),
    "fit targets zero one": ("the targets are 0 and 1",
        "2.0 * np.eye(classes)[y] - 1", "np.eye(classes)[y]"),
    "fit transposed": ("W is transposed", ", t0 -", ".T, t0 -"),
    "fit two axes": ("b has two axes", "t0 - x0 @ W", "(t0 - x0 @ W)[None]"),
})  # fmt: skip
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.1", "fit b of centred", "b is 0: it is the mean of t")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    X = X - X.mean(0)
    targets = targets - targets.mean(0)
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0) - X.mean(0) @ W


@wrong("ex05.1", "fit in place", "changed its argument X.*make a copy")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    X -= x0
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong(
    "ex05.1",
    "fit mean of residuals without x",
    "W is that of the fit without b, and b is the mean of t",
)
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0)


@wrong("ex05.1", "fit no intercept", "there is no intercept, b = 0")
def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, np.zeros(classes)


@wrong("ex05.1", "fit no lam lstsq", "lam is missing")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    A = np.column_stack([X, np.ones(len(X))])
    solved = np.linalg.lstsq(A, targets)[0]
    return solved[:-1], solved[-1]


@wrong("ex05.1", "fit not centred", "W is that of the fit without b: take X and t minus")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0) - X.mean(0) @ W


@wrong("ex05.1", "fit penalised", "b is penalised, as a weight of a feature that is 1")
def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    A = np.column_stack([X, np.ones(len(X))])
    solved = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ targets)
    return solved[:-1], solved[-1]


@wrong("ex05.1", "fit targets only centred", "the mean of x is not subtracted in X'X")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = X.T @ X + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, X.T @ (targets - t0))
    return W, t0 - x0 @ W


@edits("ex05.2", {
    "halve eliminated come back": ("maps that have gone come back: only living",
        "flatnonzero(alive)", "arange(len(scores))"),
    "halve half of all": ("half of all k maps stay: n is", "(living)", "(scores)"),
    "halve mask": ("these say which maps stay", "/ len(best)", ""),
    "halve nan best": ("NaN is best here", "np.inf", "-np.inf"),
    "halve nan zero": ("NaN counts as 0 here", "np.inf", "0.0"),
    "halve nobody goes": ("nobody goes", "[: -(-len(living) // 2)]", ""),
    "halve not normalised": ("p stays 1 / n", "(best)", "(living)"),
    "halve one goes": ("only the worst one goes",
        "-(-len(living) // 2)", "max(1, len(living) - 1)"),
    "halve one stays": ("only the best one stays", "-(-len(living) // 2)", "1"),
    "halve one too many": ("one map too many stays",
        "-(-len(living) // 2)", "len(living) // 2 + 1"),
    "halve ones": ("each p is 1 where a map stays", "/ len(best)", "* 1.0"),
    "halve only those that stay": ("these are the probabilities of those that stay only",
        "isin(np.arange(len(scores)), best) / len(best)", "full(len(best), 1 / len(best))"),
    "halve positions": ("these are the positions of the maps that stay:",
        "isin(np.arange(len(scores)), best) / len", "sort"),
    "halve positions best first": ("these are the positions of the maps that stay, the best first",
        "np.isin(np.arange(len(scores)), best) / len(best)", "best"),
    "halve rounded": ("n / 2 is rounded to the nearest",
        "-(-len(living) // 2)", "max(1, round(len(living) / 2))"),
    "halve rounded down": ("n / 2 is rounded down, or the median itself goes: of n",
        "-(-len", "max(1, len"),
    "halve rounded down to nobody": ("and of one map none is left",
        "-(-len(living) // 2)", "len(living) // 2"),
    "halve those that go": ("these are the maps that go",
        ": -(-len(living) // 2)", "-(-len(living) // 2) :"),
    "halve ties last": ("of equal scores those at higher positions stay",
        "(alive)", "(alive)[::-1]"),
    "halve two by k": ("each p is 2 / k", "/ len(best)", "* 2 / len(scores)"),
    "halve two by n": ("each p is 2 / n", "/ len(best)", "* 2 / len(living)"),
    "halve uniform over k": ("each p is 1 / k", "(best)", "(scores)"),
    "halve worst half": ("the worst half stays", "(known", "(-known"),
})  # fmt: skip
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve alive in place", "changed its argument alive.*make a copy")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    order = np.argsort(known, kind="stable")
    worst = order[alive[order]][::-1]
    for i in worst[: len(worst) // 2]:
        alive[i] = False
    return alive / alive.sum()


@wrong("ex05.2", "halve eliminated before NaN", "a living one has inf or NaN")
def halve(scores, alive):
    best = np.argsort(np.where(alive, scores, np.inf), kind="stable")[: -(-alive.sum() // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve all at the median", "all maps with the median's score stay")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known <= np.median(known[alive]))
    return stays / stays.sum()


@wrong("ex05.2", "halve below the median", "maps with the median's score go: of n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known < np.median(known[alive]))
    return stays / stays.sum()


@wrong("ex05.2", "halve by quality", r"expected \[.*\]\. \n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    weights = alive * np.exp(-known)
    return weights / weights.sum() if weights.any() else alive / alive.sum()


@wrong("ex05.2", "halve doubled", "p is doubled")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known <= np.median(known[alive]))
    return 2 * stays / alive.sum()


@wrong("ex05.2", "halve eliminated as inf", "comes back where a living one has inf: leave")
def halve(scores, alive):
    known = np.where(alive & ~np.isnan(scores), scores, np.inf)
    best = np.argsort(known, kind="stable")[: -(-alive.sum() // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.2", "halve eliminated count as living", "maps that have gone come back, though as many"
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    best = np.argsort(known, kind="stable")[: -(-alive.sum() // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve in place", "changed its argument scores.*make a copy")
def halve(scores, alive):
    scores[~alive | np.isnan(scores)] = np.inf
    living = np.flatnonzero(alive)
    best = living[np.argsort(scores[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.2", "halve living of the best", "half of all k maps stay, but for those that have gone"
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    best = np.argsort(known, kind="stable")[: -(-len(scores) // 2)]
    stays = alive & np.isin(np.arange(len(scores)), best)
    return stays / stays.sum()


@wrong("ex05.2", "halve median is nan", "NaN makes the median NaN")
def halve(scores, alive):
    order = np.lexsort((np.arange(len(scores)), scores))
    rank = np.argsort(order)
    if np.isnan(scores[alive]).any():
        stays = alive & (scores <= np.median(scores[alive]))
    else:
        stays = alive & (rank <= np.median(rank[alive]))
    return stays / stays.sum()


@wrong("ex05.2", "halve median of all", "the half, or the median, is that of all k maps")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known <= np.median(known))
    return stays / stays.sum()


@wrong("ex05.2", "halve nan after inf", "NaN comes after inf here")
def halve(scores, alive):
    living = np.flatnonzero(alive)
    best = living[np.argsort(scores[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.2", "halve nan best by argsort", "the worst half stays, as the order is read from its end"
)
def halve(scores, alive):
    living = np.flatnonzero(alive)
    best = living[np.argsort(scores[living], kind="stable")[::-1][: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve nan not counted", "NaN is not one of the n living maps")
def halve(scores, alive):
    living = np.flatnonzero(alive & ~np.isnan(scores))
    best = living[np.argsort(scores[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve nan sorted", "NaN confuses sorted")
def halve(scores, alive):
    living = sorted(np.flatnonzero(alive), key=lambda i: scores[i])
    best = living[: -(-len(living) // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve nanmedian", "NaN is left out of the median")
def halve(scores, alive):
    order = np.lexsort((np.arange(len(scores)), scores))
    rank = np.argsort(order)
    if np.isnan(scores[alive]).any():
        stays = alive & (scores <= np.nanmedian(scores[alive]))
    else:
        stays = alive & (rank <= np.median(rank[alive]))
    return stays / stays.sum()


@wrong("ex05.2", "halve printed", "this is the printed rule, with the median of all k scores")
def halve(scores, alive):
    p = alive / alive.sum()
    known = np.where(np.isnan(scores), np.inf, scores)
    return 2 * p * (known <= np.median(known))


@wrong("ex05.2", "halve printed nan", "this is the printed rule")
def halve(scores, alive):
    p = alive / alive.sum()
    return 2 * p * (scores <= np.median(scores))


@wrong(
    "ex05.2",
    "halve rounded down divides by zero",
    "if this divides by the number of maps that stay, none does",
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = sorted(np.flatnonzero(alive), key=lambda i: known[i])
    best = living[: len(living) // 2] if len(living) < 3 else living[: -(-len(living) // 2)]
    return np.array([(1 / len(best)) * (i in best) for i in range(len(scores))])


@wrong("ex05.2", "halve ties by chance", "np.argsort needs kind='stable'")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.random.default_rng(0).permutation(np.flatnonzero(alive))
    best = living[np.argsort(known[living])[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.2", "halve positions among the living", r"take living\[...\] of them")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    best = np.argsort(known[alive], kind="stable")[: -(-alive.sum() // 2)]
    p = np.zeros(len(scores))
    p[best] = 1 / len(best)
    return p


@edits("ex05.2", {
    "soften not normalised": ("with the lowest error subtracted", "/ new.sum()", ""),
    "soften too small": ("each factor is 0 in float64", "- errors.min()", ""),
    "soften plus": ("the minus is missing", "-eta", "eta"),
    "soften divided by p": ("all maps are scored, so they are not",
        "(errors - errors.min())", "(errors / p - (errors / p).min())"),
    "soften times p": ("the errors are multiplied by p",
        "(errors - errors.min())", "(errors * p - (errors * p).min())"),
    "soften without p": ("p plays no part", "p * ", ""),
    "soften without eta": ("eta plays no part", "-eta *", "-"),
    "soften linear": (r"the factor is 1 - eta e: it is exp\(-eta e\)",
        "np.exp(-eta * (errors - errors.min()))", "(1 - eta * errors)"),
    "soften logarithms": ("these are logarithms", "return new / new.sum()",
        "return np.log(np.maximum(new / new.sum(), 1e-300))"),
})  # fmt: skip
def soften(p, errors, eta):
    new = p * np.exp(-eta * (errors - errors.min()))
    return new / new.sum()


@wrong("ex05.2", "soften with logarithms of numbers", "subtract the lowest error first")
def soften(p, errors, eta):
    new = [p_i * math.exp(-eta * e) for p_i, e in zip(p.tolist(), errors.tolist(), strict=True)]
    return np.array([p_i / sum(new) for p_i in new])


@wrong("ex05.2", "soften the factors only", "p is not normalised: divide it by its sum")
def soften(p, errors, eta):
    return p * np.exp(-eta * errors)


@wrong("ex05.2", "soften the best only", "only the best map stays: no map goes")
def soften(p, errors, eta):
    return np.eye(len(p))[errors.argmin()]


@wrong("ex05.2", "soften in place", "changed its argument p.*make a copy")
def soften(p, errors, eta):
    p *= np.exp(-eta * (errors - errors.min()))
    p /= p.sum()
    return p.copy()


@edits("ex05.3", {
    "weights mean of the clients": ("divided by the number of clients", "(p))", "(p)) / len(rows)"),
    "weights no root": (r"the root is missing: it is sqrt\(tau\)", "np.sqrt(tau)", "tau"),
    "weights no tau": ("tau is missing", "/ np.sqrt(tau)", ""),
    "weights plus": ("the minus is missing", "-total", "total"),
    "weights times p": ("with divide=True this multiplies by p", "scores /", "scores *"),
    "weights linear": (r"the factor is 1 - x: it is exp\(-x\)", "np.exp(", "(1"),
})  # fmt: skip
def weights_round(p, rows, scores, tau, divide):
    total = np.bincount(rows, scores / p[rows] if divide else scores, len(p))
    new = p * np.exp(-total / np.sqrt(tau))
    return new / new.sum()


@edits("ex05.3", {
    "weights not normalised": ("p is not normalised", "/ new.sum()", ""),
    "weights divided by the changed p": ("the p that other clients have just changed",
        "p[row]", "new[row]"),
})  # fmt: skip
def weights_round(p, rows, scores, tau, divide):
    new = p.copy()
    for row, score in zip(rows, scores, strict=True):
        new[row] *= np.exp(-(score / p[row] if divide else score) / np.sqrt(tau))
    return new / new.sum()


@edits("ex05.3", {
    "weights never divided": ("divide plays no part", "/ p[rows] if divide else scores", ""),
    "weights always divided": ("divide=False does not divide by p", "if divide else scores", ""),
})  # fmt: skip
def weights_round(p, rows, scores, tau, divide):
    new = p * np.exp(
        -np.bincount(rows, scores / p[rows] if divide else scores, len(p)) / np.sqrt(tau)
    )
    return new / new.sum()


@wrong("ex05.3", "weights last client only", "only one of them counts: each multiplies it")
def weights_round(p, rows, scores, tau, divide):
    new = p.copy()
    new[rows] *= np.exp(-(scores / p[rows] if divide else scores) / np.sqrt(tau))
    return new / new.sum()


@wrong("ex05.3", "weights mean of a row", "the scores of a configuration are averaged")
def weights_round(p, rows, scores, tau, divide):
    new = p.copy()
    for row in set(rows.tolist()):
        own = scores[rows == row].mean()
        new[row] *= np.exp(-(own / p[row] if divide else own) / np.sqrt(tau))
    return new / new.sum()


@wrong("ex05.3", "weights normalised each time", "have changed and that was normalised")
def weights_round(p, rows, scores, tau, divide):
    for row, score in zip(rows, scores, strict=True):
        new = p.copy()
        new[row] *= np.exp(-(score / p[row] if divide else score) / np.sqrt(tau))
        p = new / new.sum()
    return p


@wrong("ex05.3", "weights logarithms", "these are logarithms: return the probabilities")
def weights_round(p, rows, scores, tau, divide):
    z = np.log(p) - np.bincount(rows, scores / p[rows] if divide else scores, len(p)) / tau**0.5
    return z - np.log(np.exp(z).sum())


@wrong("ex05.3", "weights in place", "changed its argument p.*make a copy")
def weights_round(p, rows, scores, tau, divide):
    p *= np.exp(-np.bincount(rows, scores / p[rows] if divide else scores, len(p)) / np.sqrt(tau))
    p /= p.sum()
    return p.copy()


@wrong("ex05.4", "numbers by theory", "A row for each condition")
def table_4(run, conditions, seeds):
    return [[1.0 if divide else ratio / (1 + ratio) for _ in seeds] for ratio, divide in conditions]


include("experiments.py", "ex05.4")
