"""Typical answers to exercise 5, right and wrong."""

import math

import numpy as np
from numpy.linalg import lstsq

from fedlab_grade.mutants import right, wrong


@right
class augmented:
    """The intercept belongs to a column of ones, and features are picked by multiplication."""

    def fourier(x, omega, offset, gamma):
        x = np.hstack([np.sqrt(2 * gamma) * x, np.ones((len(x), 1))])
        return np.cos(x @ np.vstack([omega, offset])) * np.sqrt(2 / omega.shape[1])

    def mixed(features, assignment):
        chosen = (np.arange(len(features)) == assignment[:, None]).astype(float)
        return np.einsum("ij,jia->ia", chosen, features)

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

    def fourier(x, omega, offset, gamma):
        rows = []
        for example in x:
            row = []
            for j in range(len(offset)):
                product = 0.0
                for a in range(len(example)):
                    product += example[a] * omega[a][j]
                angle = math.sqrt(2 * gamma) * product + offset[j]
                row.append(math.sqrt(2) / math.sqrt(len(offset)) * math.cos(angle))
            rows.append(row)
        print(len(rows), "rows")
        return np.array(rows)

    def mixed(features, assignment):
        X = np.zeros((features.shape[1], features.shape[2]))
        for i in range(len(assignment)):
            X[i] = features[assignment[i]][i]
        return X

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

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class lstsq:
    """More rows in place of the penalty; the sum of angles in place of the offset."""

    def fourier(x, omega, offset, gamma):
        angles = np.sqrt(2 * gamma) * (omega.T @ x.T).T
        waves = np.cos(angles) * np.cos(offset) - np.sin(angles) * np.sin(offset)
        return waves / np.sqrt(len(offset) / 2)

    def mixed(features, assignment):
        return np.take_along_axis(features, assignment[None, :, None], axis=0)[0]

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

    def fourier(x, w, b, g):
        return (2 / b.size) ** 0.5 * np.cos(x @ w * (2 * g) ** 0.5 + b)

    def mixed(maps, a):
        return maps[a, range(len(a))]

    def shared_fit(x, labels, classes, penalty):
        t = np.where(np.equal.outer(labels, range(classes)), 1, -1)
        z = x - x.mean(0)
        w = np.linalg.solve(z.T @ z + np.diag([penalty] * x.shape[1]), z.T @ t)
        return [w, (t - x @ w).mean(axis=0)]

    def halve(s, alive):
        order = np.lexsort((np.nan_to_num(s, nan=np.inf, posinf=np.inf, neginf=-np.inf), ~alive))
        places = (alive.sum() + 1) // 2
        return (order.argsort() < places) / places


@right
class svd:
    """The fit by singular values, or by as many unknowns as there are examples."""

    def fourier(x, omega, offset, gamma):
        waves = np.exp(
            1j * (np.sqrt(gamma) * np.sqrt(2) * np.einsum("id,dj->ij", x, omega) + offset)
        )
        return waves.real * np.sqrt(2.0 / omega.shape[-1])

    def mixed(features, assignment):
        return features[assignment].diagonal().T

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


@wrong("ex05.1", "fourier angle", "this is the angle")
def fourier(x, omega, offset, gamma):
    return np.sqrt(2 * gamma) * x @ omega + offset


@wrong("ex05.1", "fourier cosines and sines", "these are cosines and sines")
def fourier(x, omega, offset, gamma):
    angles = np.sqrt(2 * gamma) * x @ omega
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(omega.shape[1])


@wrong("ex05.1", "fourier divided by root", r"this divides by sqrt\(2 gamma\)")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(x @ omega / np.sqrt(2 * gamma) + offset)


@wrong("ex05.1", "fourier factor by d", r"the factor is sqrt\(2 / d\)")
def fourier(x, omega, offset, gamma):
    n = omega.shape[0]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier factor by examples", r"the factor is sqrt\(2 / N\)")
def fourier(x, omega, offset, gamma):
    n = len(x)
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier factor root of two", r"the factor is sqrt\(2\) / n")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2) / n * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier factor two outside", r"the factor is 2 / sqrt\(n\)")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return 2 / np.sqrt(n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier factor without root", "the factor is 2 / n")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return 2 / n * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier factor without two", r"the factor is 1 / sqrt\(n\)")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return 1 / np.sqrt(n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier float32", "dtype float32, expected float64")
def fourier(x, omega, offset, gamma):
    angles = np.sqrt(2 * gamma) * x @ omega + offset
    return (np.sqrt(2 / len(offset)) * np.cos(angles)).astype(np.float32)


@wrong("ex05.1", "fourier gamma", "x omega is multiplied by gamma")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(gamma * x @ omega + offset)


@wrong("ex05.1", "fourier gamma outside", "gamma is outside the root")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2) * gamma * x @ omega + offset)


@wrong("ex05.1", "fourier in place", "changed its argument x.*make a copy")
def fourier(x, omega, offset, gamma):
    x *= np.sqrt(2 * gamma)
    return np.sqrt(2 / len(offset)) * np.cos(x @ omega + offset)


@wrong("ex05.1", "fourier list", "returned a list, expected an array")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return (np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset)).tolist()


@wrong("ex05.1", "fourier no factor", r"the factor sqrt\(2 / n\) is missing")
def fourier(x, omega, offset, gamma):
    return np.cos(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier no gamma", "gamma plays no part")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(x @ omega + offset)


@wrong("ex05.1", "fourier no offset", "the offset is missing")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega)


@wrong("ex05.1", "fourier nothing", "there is no `return`")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    print(np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset))


@wrong("ex05.1", "fourier offset outside", "the offset is added to the cosine")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega) + offset


@wrong("ex05.1", "fourier offset scaled", r"the offset is multiplied by sqrt\(2 gamma\), too")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * (x @ omega + offset))


@wrong("ex05.1", "fourier offset subtracted", "the offset is subtracted")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega - offset)


@wrong("ex05.1", "fourier offset times gamma", "the offset is multiplied by gamma, too")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(gamma * (x @ omega + offset))


@wrong("ex05.1", "fourier omega transposed", "the shapes do not fit in a product")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega.T + offset)


@wrong("ex05.1", "fourier omega transposed dot", "the shapes do not fit in a product")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * np.dot(x, omega.T) + offset)


@wrong("ex05.1", "fourier omega transposed einsum", "the shapes do not fit in a product")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * np.einsum("id,jd->ij", x, omega) + offset)


@wrong("ex05.1", "fourier omega transposed loops", "the shapes do not fit in a product")
def fourier(x, omega, offset, gamma):
    features = np.zeros((len(x), len(offset)))
    for i in range(len(x)):
        for j in range(len(offset)):
            product = sum(x[i, a] * omega[j, a] for a in range(x.shape[1]))
            features[i, j] = np.cos(np.sqrt(2 * gamma) * product + offset[j])
    return np.sqrt(2 / len(offset)) * features


@wrong("ex05.1", "fourier one offset", r"expected \[.*\]\. $")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset[0])


@wrong("ex05.1", "fourier root of gamma", r"the 2 is missing in sqrt\(2 gamma\)")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier sine", "this is the sine")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.sin(np.sqrt(2 * gamma) * x @ omega + offset)


@wrong("ex05.1", "fourier transposed", "the answer is transposed")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(np.sqrt(2 * gamma) * x @ omega + offset).T


@wrong("ex05.1", "fourier two gamma", "the root is missing")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(2 * gamma * x @ omega + offset)


@wrong("ex05.1", "fourier two outside", "the 2 is outside the root")
def fourier(x, omega, offset, gamma):
    n = omega.shape[1]
    return np.sqrt(2 / n) * np.cos(2 * np.sqrt(gamma) * x @ omega + offset)


@wrong("ex05.2", "mixed all rows", r"features\[assignment\] has for each example all rows")
def mixed(features, assignment):
    return features[assignment]


@wrong("ex05.2", "mixed diagonal", "the answer is transposed")
def mixed(features, assignment):
    return np.diagonal(features[assignment])


@wrong("ex05.2", "mixed diagonal of features", "the diagonal is over examples and features")
def mixed(features, assignment):
    return np.diagonal(features[assignment], axis1=1, axis2=2)


@wrong("ex05.2", "mixed diagonal of wrong axis", "the diagonal is over axes 0 and 2")
def mixed(features, assignment):
    return np.diagonal(features[assignment], axis1=0, axis2=2)


@wrong("ex05.2", "mixed diagonal without assignment", "example i has map i here")
def mixed(features, assignment):
    return np.diagonal(features).T


@wrong("ex05.2", "mixed from one", "the maps are counted from 1 here")
def mixed(features, assignment):
    return features[assignment - 1, np.arange(len(assignment))]


@wrong("ex05.2", "mixed in place", "changed its argument features.*make a copy")
def mixed(features, assignment):
    X = features[0]
    for i, j in enumerate(assignment):
        X[i] = features[j, i]
    return X


@wrong("ex05.2", "mixed indices exchanged", "the first index of features is the map")
def mixed(features, assignment):
    return features[np.arange(len(assignment)), assignment]


@wrong("ex05.2", "mixed last row missing", r"expected \[.*\]\. $")
def mixed(features, assignment):
    X = np.zeros_like(features[0])
    for i in range(len(assignment) - 1):
        X[i] = features[assignment[i], i]
    return X


@wrong("ex05.2", "mixed list", "returned a list, expected an array")
def mixed(features, assignment):
    return [features[j, i] for i, j in enumerate(assignment)]


@wrong("ex05.2", "mixed map of most", "the map that most have")
def mixed(features, assignment):
    return features[np.bincount(assignment).argmax()]


@wrong("ex05.2", "mixed map of the first", "all examples have the map of the first")
def mixed(features, assignment):
    return features[assignment[0]]


@wrong("ex05.2", "mixed map of the last", "all examples have the map of the last")
def mixed(features, assignment):
    for map_ in assignment:
        X = features[map_]
    return X


@wrong("ex05.2", "mixed map zero", "all examples have map 0")
def mixed(features, assignment):
    return features[0]


@wrong("ex05.2", "mixed mean", "this is the mean over the maps: example")
def mixed(features, assignment):
    return features.mean(0)


@wrong("ex05.2", "mixed mean of drawn", "each weighted by its share")
def mixed(features, assignment):
    return features[assignment].mean(0)


@wrong("ex05.2", "mixed not added up", "add up over the maps")
def mixed(features, assignment):
    chosen = np.arange(len(features))[:, None] == assignment
    return features * chosen[:, :, None]


@wrong("ex05.2", "mixed row of map", r"the row is that of example assignment\[i\]")
def mixed(features, assignment):
    return features[assignment, assignment]


@wrong("ex05.2", "mixed sorted assignment", "the assignment is sorted")
def mixed(features, assignment):
    assignment = np.sort(assignment)
    return features[assignment, np.arange(len(assignment))]


@wrong("ex05.2", "mixed sorted by map", "the rows are in the order of their maps")
def mixed(features, assignment):
    rows = [features[j][assignment == j] for j in range(len(features))]
    return np.concatenate(rows)


@wrong("ex05.2", "mixed sum", "this is the sum over the maps")
def mixed(features, assignment):
    return features.sum(0)


@wrong("ex05.3", "fit b mean of targets", "b is the mean of t only")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0


@wrong("ex05.3", "fit b of centred", "b is 0: it is the mean of t")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    X = X - X.mean(0)
    targets = targets - targets.mean(0)
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0) - X.mean(0) @ W


@wrong("ex05.3", "fit b plus", "b has plus the mean of x")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 + x0 @ W


@wrong("ex05.3", "fit b sign", "b has the wrong sign")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, x0 @ W - t0


@wrong("ex05.3", "fit b without mean of targets", "b has only minus the mean of x")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, -x0 @ W


@wrong("ex05.3", "fit b zero", "b is 0: it is the mean of t")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, np.zeros(classes)


@wrong("ex05.3", "fit classes that occur", "there are only as many classes as y has")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(y.max() + 1)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit exchanged", "W and b are exchanged")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return t0 - x0 @ W, W


@wrong("ex05.3", "fit half centred", "the mean of x is not subtracted in X'X")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = X.T @ X + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit in place", "changed its argument X.*make a copy")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    X -= x0
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam double", "lam is doubled")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + 2 * lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam half", "lam is halved")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam / 2 * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam in all entries", "lam is added to all entries")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam one", "lam plays no part, as if it were 1")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam squared", "lam is squared")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam**2 * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam subtracted", "lam is subtracted")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) - lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit lam times number", "lam is multiplied by N")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * len(X) * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong(
    "ex05.3",
    "fit mean of residuals without x",
    "W is that of the fit without b, and b is the mean of t",
)
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0)


@wrong("ex05.3", "fit mean of squares", "the squares are averaged, not added up")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam / len(X) * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit no intercept", "there is no intercept, b = 0")
def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, np.zeros(classes)


@wrong("ex05.3", "fit no lam", "lam is missing")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0)
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit no lam lstsq", "lam is missing")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    A = np.column_stack([X, np.ones(len(X))])
    solved = np.linalg.lstsq(A, targets)[0]
    return solved[:-1], solved[-1]


@wrong("ex05.3", "fit not centred", "W is that of the fit without b: take X and t minus")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    W = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ targets)
    return W, targets.mean(0) - X.mean(0) @ W


@wrong("ex05.3", "fit nothing", "there is no `return`")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    print(W, t0 - x0 @ W)


@wrong("ex05.3", "fit one class", r"expected \[.*\]\. $")
def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == 0, 1.0, -1.0) * np.ones(classes)
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit only w", "the 2 values W, b")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W


@wrong("ex05.3", "fit penalised", "b is penalised, as a weight of a feature that is 1")
def shared_fit(X, y, classes, lam):
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    A = np.column_stack([X, np.ones(len(X))])
    solved = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ targets)
    return solved[:-1], solved[-1]


@wrong("ex05.3", "fit targets are labels", "the targets are the numbers of the classes")
def shared_fit(X, y, classes, lam):
    targets = y.astype(float)
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit targets only centred", "the mean of x is not subtracted in X'X")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = X.T @ X + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, X.T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit targets signs", "the targets have the wrong signs")
def shared_fit(X, y, classes, lam):
    targets = 1 - 2.0 * np.eye(classes)[y]
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit targets zero one", "the targets are 0 and 1")
def shared_fit(X, y, classes, lam):
    targets = np.eye(classes)[y]
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, t0 - x0 @ W


@wrong("ex05.3", "fit transposed", "W is transposed")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W.T, t0 - x0 @ W


@wrong("ex05.3", "fit two axes", "b has two axes")
def shared_fit(X, y, classes, lam):
    targets = 2.0 * np.eye(classes)[y] - 1
    x0, t0 = X.mean(0), targets.mean(0)
    gram = (X - x0).T @ (X - x0) + lam * np.eye(X.shape[1])
    W = np.linalg.solve(gram, (X - x0).T @ (targets - t0))
    return W, (t0 - x0 @ W)[None]


@wrong("ex05.4", "halve alive in place", "changed its argument alive.*make a copy")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    order = np.argsort(known, kind="stable")
    worst = order[alive[order]][::-1]
    for i in worst[: len(worst) // 2]:
        alive[i] = False
    return alive / alive.sum()


@wrong("ex05.4", "halve all at the median", "all maps with the median's score stay")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known <= np.median(known[alive]))
    return stays / stays.sum()


@wrong("ex05.4", "halve below the median", "maps with the median's score go: of n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known < np.median(known[alive]))
    return stays / stays.sum()


@wrong("ex05.4", "halve by quality", r"expected \[.*\]\. \n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    weights = alive * np.exp(-known)
    return weights / weights.sum() if weights.any() else alive / alive.sum()


@wrong("ex05.4", "halve doubled", "p is doubled")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known <= np.median(known[alive]))
    return 2 * stays / alive.sum()


@wrong(
    "ex05.4", "halve eliminated as inf", "a map that has gone comes back where a living one has inf"
)
def halve(scores, alive):
    known = np.where(alive & ~np.isnan(scores), scores, np.inf)
    best = np.argsort(known, kind="stable")[: -(-alive.sum() // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve eliminated come back", "maps that have gone come back: only living")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.arange(len(scores))
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.4", "halve eliminated count as living", "maps that have gone come back, though as many"
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    best = np.argsort(known, kind="stable")[: -(-alive.sum() // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve half of all", "half of all k maps stay: n is")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(scores) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve in place", "changed its argument scores.*make a copy")
def halve(scores, alive):
    scores[~alive | np.isnan(scores)] = np.inf
    living = np.flatnonzero(alive)
    best = living[np.argsort(scores[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.4", "halve living of the best", "half of all k maps stay, but for those that have gone"
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    best = np.argsort(known, kind="stable")[: -(-len(scores) // 2)]
    stays = alive & np.isin(np.arange(len(scores)), best)
    return stays / stays.sum()


@wrong("ex05.4", "halve mask", "these say which maps stay")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best)


@wrong("ex05.4", "halve median is nan", "NaN makes the median NaN")
def halve(scores, alive):
    order = np.lexsort((np.arange(len(scores)), scores))
    rank = np.argsort(order)
    if np.isnan(scores[alive]).any():
        stays = alive & (scores <= np.median(scores[alive]))
    else:
        stays = alive & (rank <= np.median(rank[alive]))
    return stays / stays.sum()


@wrong("ex05.4", "halve median of all", "the half, or the median, is that of all k maps")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    stays = alive & (known <= np.median(known))
    return stays / stays.sum()


@wrong("ex05.4", "halve nan after inf", "NaN comes after inf here")
def halve(scores, alive):
    living = np.flatnonzero(alive)
    best = living[np.argsort(scores[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve nan best", "NaN is best here")
def halve(scores, alive):
    known = np.where(np.isnan(scores), -np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.4", "halve nan best by argsort", "the worst half stays, as the order is read from its end"
)
def halve(scores, alive):
    living = np.flatnonzero(alive)
    best = living[np.argsort(scores[living], kind="stable")[::-1][: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve nan not counted", "NaN is not one of the n living maps")
def halve(scores, alive):
    living = np.flatnonzero(alive & ~np.isnan(scores))
    best = living[np.argsort(scores[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve nan sorted", "NaN confuses sorted")
def halve(scores, alive):
    living = sorted(np.flatnonzero(alive), key=lambda i: scores[i])
    best = living[: -(-len(living) // 2)]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve nan zero", "NaN counts as 0 here")
def halve(scores, alive):
    known = np.where(np.isnan(scores), 0.0, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve nanmedian", "NaN is left out of the median")
def halve(scores, alive):
    order = np.lexsort((np.arange(len(scores)), scores))
    rank = np.argsort(order)
    if np.isnan(scores[alive]).any():
        stays = alive & (scores <= np.nanmedian(scores[alive]))
    else:
        stays = alive & (rank <= np.median(rank[alive]))
    return stays / stays.sum()


@wrong("ex05.4", "halve nobody goes", "nobody goes")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve not normalised", "p stays 1 / n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(living)


@wrong("ex05.4", "halve one goes", "only the worst one goes")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: max(1, len(living) - 1)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve one stays", "only the best one stays")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[:1]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve one too many", "one map too many stays")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: len(living) // 2 + 1]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve ones", "each p is 1 where a map stays")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) * 1.0


@wrong(
    "ex05.4", "halve only those that stay", "these are the probabilities of those that stay only"
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.full(len(best), 1 / len(best))


@wrong("ex05.4", "halve positions", "these are the positions of the maps that stay:")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.sort(best)


@wrong(
    "ex05.4",
    "halve positions best first",
    "these are the positions of the maps that stay, the best first",
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return best


@wrong("ex05.4", "halve printed", "this is the printed rule, with the median of all k scores")
def halve(scores, alive):
    p = alive / alive.sum()
    known = np.where(np.isnan(scores), np.inf, scores)
    return 2 * p * (known <= np.median(known))


@wrong("ex05.4", "halve printed nan", "this is the printed rule")
def halve(scores, alive):
    p = alive / alive.sum()
    return 2 * p * (scores <= np.median(scores))


@wrong("ex05.4", "halve rounded", "n / 2 is rounded to the nearest")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: max(1, round(len(living) / 2))]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve rounded down", "n / 2 is rounded down, or the median itself goes: of n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: max(1, len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong(
    "ex05.4",
    "halve rounded down divides by zero",
    "if this divides by the number of maps that stay, none does",
)
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = sorted(np.flatnonzero(alive), key=lambda i: known[i])
    best = living[: len(living) // 2] if len(living) < 3 else living[: -(-len(living) // 2)]
    return np.array([(1 / len(best)) * (i in best) for i in range(len(scores))])


@wrong("ex05.4", "halve rounded down to nobody", "and of one map none is left")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: len(living) // 2]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve those that go", "these are the maps that go")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[-(-len(living) // 2) :]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve ties by chance", "np.argsort needs kind='stable'")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.random.default_rng(0).permutation(np.flatnonzero(alive))
    best = living[np.argsort(known[living])[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve ties last", "of equal scores those at higher positions stay")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)[::-1]
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)


@wrong("ex05.4", "halve two by k", "each p is 2 / k")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) * 2 / len(scores)


@wrong("ex05.4", "halve two by n", "each p is 2 / n")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) * 2 / len(living)


@wrong("ex05.4", "halve uniform over k", "each p is 1 / k")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(scores)


@wrong("ex05.4", "halve worst half", "the worst half stays")
def halve(scores, alive):
    known = np.where(np.isnan(scores), np.inf, scores)
    living = np.flatnonzero(alive)
    best = living[np.argsort(-known[living], kind="stable")[: -(-len(living) // 2)]]
    return np.isin(np.arange(len(scores)), best) / len(best)
