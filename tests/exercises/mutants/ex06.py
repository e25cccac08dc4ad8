"""Typical answers to exercise 6, right and wrong."""

import math

import numpy as np
import torch
from scipy.special import log_softmax

from fedlab_edu.oco.bandit import move
from fedlab_edu.oco.bounds import ogd_bound
from fedlab_edu.oco.losses import Losses
from fedlab_edu.oco.ogd import ogd as play
from fedlab_grade.mutants import edits, include, right, wrong


@right
class long:
    """Plain loops over numbers, with helpers and prints of the student's own."""

    def length(v):
        return math.sqrt(sum(x * x for x in v))

    def ogd(z, w, c, radius):
        w = list(w)
        points = []
        losses = []
        for i in range(len(z)):
            points.append(list(w))
            losses.append(sum((w[a] - z[i][a]) ** 2 for a in range(len(w))) / 2)
            for a in range(len(w)):
                w[a] = w[a] - c * (w[a] - z[i][a])
            norm = length(w)
            if norm >= radius:
                for a in range(len(w)):
                    w[a] = w[a] / norm * radius
        print(len(points), "points")
        return np.array(points), sum(losses)

    def bandit_step(z, arm, loss, eta):
        new = []
        for j in range(len(z)):
            if j == arm:
                new.append(z[j] - eta * loss / math.exp(z[j]))
            else:
                new.append(z[j])
        largest = max(new)
        total = 0.0
        for value in new:
            total += math.exp(value - largest)
        return np.array([value - largest - math.log(total) for value in new])

    def best_step(distances, c, G, m):
        best, position = math.inf, None
        for j in range(len(c)):
            total = 0.0
            for distance in distances:
                total += distance**2 / (2 * c[j]) + c[j] * m * G**2 / 2
            if total / len(distances) < best:
                best, position = total / len(distances), j
        return best, position

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class package:
    """With the functions of the package, which work on tensors."""

    def ogd(z, w, c, radius):
        played = play(Losses("quadratic", z), w, c, radius)
        return played.trajectory.numpy(), played.total.item()

    def bandit_step(z, arm, loss, eta):
        z = torch.tensor(z)
        losses = torch.full_like(z, loss)
        return move(z, z.exp(), torch.tensor(arm), losses, eta).numpy()

    def best_step(distances, c, G, m):
        bounds = ogd_bound(distances[:, None], c, G, m).mean(0)
        return bounds.min().item(), bounds.argmin().item()


@right
class short:
    """Each question in a few expressions, with names of the student's own."""

    def ogd(data, x, rate, r):
        path = [x]
        for row in data:
            x = x + rate * (row - x)
            path.append(x * min(1, r / max(np.linalg.norm(x), r)))
            x = path[-1]
        return np.stack(path[:-1]), ((np.stack(path[:-1]) - data) ** 2).sum() / 2

    def bandit_step(log_p, a, value, rate):
        return log_softmax(log_p - rate * value / np.exp(log_p[a]) * (np.arange(len(log_p)) == a))

    def best_step(x, c, G, m):
        return min(
            (float(np.mean(x * x / (2 * a) + a * m * G * G / 2)), j) for j, a in enumerate(c)
        )


@right
class table:
    """Project by a division that warns at 0, before it plays; a table of all tasks and steps."""

    def ogd(z, w, c, radius):
        m, d = z.shape
        points = np.empty((m + 1, d))
        points[0] = w
        losses = np.empty(m)
        for i in range(m):
            points[i] *= np.minimum(1, radius / np.sqrt(points[i] @ points[i]))
            away = points[i] - z[i]
            losses[i] = 0.5 * away @ away
            points[i + 1] = points[i] - c * away
        return points[:m], losses.sum()

    def bandit_step(z, arm, loss, eta):
        gradient = np.zeros_like(z)
        gradient[arm] = loss / np.exp(z)[arm]
        z = z - eta * gradient
        shift = z.max()
        return z - (shift + np.log(np.sum(np.exp(z - shift))))

    def best_step(distances, c, G, m):
        table = 0.5 * (np.square(distances)[:, np.newaxis] / c + c * m * G * G)
        means = np.mean(table, axis=0)
        return np.min(means), np.argmin(means)


@right
class measured:
    """Another prediction."""

    def predict_4():
        return "shrinks"

    def reading_4():
        return (
            "I was wrong: it grew by 2.18 [2.09, 2.27]! With 1,000 clients a second step size "
            "comes in, and the bound pays for the bandit. Other losses may be nearer to it."
        )


@edits("ex06.1", {
    "ogd always divided": ("points inside the ball are moved to its boundary",
        "norm = np.linalg.norm(w)\n        if norm > radius:\n            w = w * radius / norm",
        "w = w * radius / np.linalg.norm(w)"),
    "ogd always of length one": ("moved to the length 1, also those inside",
        "norm = np.linalg.norm(w)\n        if norm > radius:\n            w = w * radius / norm",
        "w = w / np.linalg.norm(w)"),
    "ogd c by i": ("c is divided by i", " - c *", " - c / (i + 1) *"),
    "ogd c divides": ("this divides by c", "c * (w - z[i])", "(w - z[i]) / c"),
    "ogd c missing": ("c is missing", " - c *", " -"),
    "ogd clipped": ("each entry is clipped by itself",
        "norm = np.linalg.norm(w)\n        if norm > radius:\n            w = w * radius / norm",
        "w = np.clip(w, -radius, radius)"),
    "ogd exchanged": ("points and total are exchanged",
        "return points, total", "return total, points"),
    "ogd gradient double": (r"the gradient is 2 \(w_i - z_i\): the 1/2", " - c *", " - c * 2 *"),
    "ogd gradient sign": ("the step goes away from z_i", " (w - z[i])", " (z[i] - w)"),
    "ogd last loss": ("the total is the last loss", "+= 0.5", "= 0.5"),
    "ogd last result only": ("this is the result of the last step only",
        "return points", "return w"),
    "ogd length one": ("points outside the ball are moved to the length 1", " * radius", ""),
    "ogd list": ("a list, expected an array", "return points", "return list(points)"),
    "ogd loss mean of entries": ("the squares of the entries are averaged", ").sum(", ").mean("),
    "ogd loss no half": ("the loss has no 1/2", " 0.5 *", ""),
    "ogd loss not squared": (r"1/2 \|w - z_i\|, without the square",
        "((w - z[i]) ** 2).sum()", "np.linalg.norm(w - z[i])"),
    "ogd mean": ("the total is the mean of the losses",
        "return points, total", "return points, total / len(z)"),
    "ogd not projected": ("the points are not projected",
        "norm = np.linalg.norm(w)\n        if norm > radius:\n            w = w * radius / norm",
        ""),
    "ogd nothing": (r"returned None.*(\n.*)*there is no `return`", "return points, total", ""),
    "ogd one point missing": ("w is left out of the points", "return points", "return points[1:]"),
    "ogd only points": ("expected the 2 values points, total",
        "return points, total", "return points"),
    "ogd squared norm compared": (r"\|w\|\^2 is compared with the radius", "norm >", "norm**2 >"),
    "ogd uphill": ("the step goes away from z_i", " - c *", " + c *"),
})  # fmt: skip
def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    for i in range(len(z)):
        points[i] = w
        total += 0.5 * ((w - z[i]) ** 2).sum()
        w = w - c * (w - z[i])
        norm = np.linalg.norm(w)
        if norm > radius:
            w = w * radius / norm
    return points, total


@wrong("ex06.1", "ogd all after", "begin with the result of the first step")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        w = w - c * (w - z_i)
        w = w / max(1, np.linalg.norm(w) / radius)
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
    return np.array(points), total


@wrong(
    "ex06.1", "ogd first point left out", "w is left out, and the result of the last step is there"
)
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        total += ((w - z_i) ** 2).sum() / 2
        w = w - c * (w - z_i)
        w = w / max(1, np.linalg.norm(w) / radius)
        points.append(w)
    return np.array(points), total


@wrong("ex06.1", "ogd from first point", "each step begins at the first point")
def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    now = w
    for i in range(len(z)):
        points[i] = now
        total += 0.5 * ((now - z[i]) ** 2).sum()
        now = w - c * (w - z[i])
        now = now / max(1, np.linalg.norm(now) / radius)
    return points, total


@wrong(
    "ex06.1",
    "ogd gradient and loss double",
    r"the gradient is 2 \(w_i - z_i\), and the loss has no 1/2",
)
def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    for i in range(len(z)):
        points[i] = w
        total += ((w - z[i]) ** 2).sum()
        w = w - c * 2 * (w - z[i])
        norm = np.linalg.norm(w)
        if norm > radius:
            w = w * radius / norm
    return points, total


@wrong("ex06.1", "ogd gradient at first point", "the gradient is taken at the first point")
def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    first = w
    for i in range(len(z)):
        points[i] = w
        total += 0.5 * ((w - z[i]) ** 2).sum()
        w = w - c * (first - z[i])
        w = w / max(1, np.linalg.norm(w) / radius)
    return points, total


@wrong("ex06.1", "ogd gradient projected", "the gradient is projected")
def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    for i in range(len(z)):
        points[i] = w
        gradient = w - z[i]
        total += 0.5 * (gradient**2).sum()
        w = w - c * gradient * min(1, radius / np.linalg.norm(gradient))
    return points, total


@wrong("ex06.1", "ogd in place", "changed its argument w.*make a copy")
def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    for i in range(len(z)):
        points[i] = w
        total += 0.5 * ((w - z[i]) ** 2).sum()
        w -= c * (w - z[i])
        norm = np.linalg.norm(w)
        if norm > radius:
            w *= radius / norm
    return points, total


@wrong("ex06.1", "ogd last point too", "the result of the last step is there, too")
def ogd(z, w, c, radius):
    points, total = [w], 0.0
    for z_i in z:
        total += ((w - z_i) ** 2).sum() / 2
        w = w - c * (w - z_i)
        w = w / max(1, np.linalg.norm(w) / radius)
        points.append(w)
    return np.array(points), total


@wrong("ex06.1", "ogd losses", "these are the losses")
def ogd(z, w, c, radius):
    points, losses = [], []
    for z_i in z:
        points.append(w)
        losses.append(((w - z_i) ** 2).sum() / 2)
        w = w - c * (w - z_i)
        w = w / max(1, np.linalg.norm(w) / radius)
    return np.array(points), np.array(losses)


@wrong("ex06.1", "ogd no step", "no step is taken")
def ogd(z, w, c, radius):
    losses = ((w - z) ** 2).sum(1) / 2
    return np.tile(w, (len(z), 1)), losses.sum()


@wrong("ex06.1", "ogd projected before", "the projection comes before the step only")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w = w / max(1, np.linalg.norm(w) / radius)
        w = w - c * (w - z_i)
    return np.array(points), total


@wrong("ex06.1", "ogd projected between", "between the gradient and the step")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        gradient = w - z_i
        total += gradient @ gradient / 2
        w = w / max(1, np.linalg.norm(w) / radius)
        w = w - c * gradient
    return np.array(points), total


@wrong("ex06.1", "ogd projected for the loss", "the points are those before their projection")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        w = w / max(1, np.linalg.norm(w) / radius)
        gradient = w - z_i
        total += gradient @ gradient / 2
        w = w - c * gradient
    return np.array(points), total


@wrong("ex06.1", "ogd shared", "all points are one array, which changes in place")
def ogd(z, w, c, radius):
    w = w.copy()
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w -= c * (w - z_i)
        w /= max(1, np.linalg.norm(w) / radius)
    return np.array(points), total


@wrong(
    "ex06.1",
    "ogd shared between projections",
    "points without a projection between them are one array",
)
def ogd(z, w, c, radius):
    w = w.copy()
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w -= c * (w - z_i)
        norm = np.linalg.norm(w)
        if norm > radius:
            w = w * radius / norm
    return np.array(points), total


@wrong("ex06.1", "ogd shared for a step", "after the step and before the projection")
def ogd(z, w, c, radius):
    w = w.copy()
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w -= c * (w - z_i)
        w = w / max(1, np.linalg.norm(w) / radius)
    return np.array(points), total


@wrong(
    "ex06.1",
    "ogd shared with the argument",
    r"also changed its argument w(.|\n)*all points are one array",
)
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w -= c * (w - z_i)
        w /= max(1, np.linalg.norm(w) / radius)
    return np.array(points), total


@wrong("ex06.1", "ogd suffers after", "suffered after the step, at the next point")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        w = w - c * (w - z_i)
        w = w / max(1, np.linalg.norm(w) / radius)
        total += ((w - z_i) ** 2).sum() / 2
    return np.array(points), total


@wrong("ex06.1", "ogd zero division", "it may be 0, so divide only where")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w = w - c * (w - z_i)
        w = w * min(1.0, radius / float(np.linalg.norm(w)))
    return np.array(points), total


@edits("ex06.2", {
    "bandit all arms": ("all arms move, each by eta loss over its own p",
        ".copy()\n    z[arm] -= eta * loss / np.exp(z[arm])", "- eta * loss / np.exp(z)"),
    "bandit all but one": ("the arm gets likelier with a loss",
        "z = z.copy()\n    z[arm] -=", "other = np.arange(len(z)) != arm\n    z = z - other *"),
    "bandit all by the same": ("no entry has changed", ".copy()\n    z[arm] -=", "-"),
    "bandit arm from one": ("the arms are counted from 1 here", "[arm] -=", "[arm - 1] -="),
    "bandit divided by log": ("the loss is divided by z_a", "np.exp(z[arm])", "z[arm]"),
    "bandit divided by sum": ("the entries of z are divided by their sum",
        "- np.logaddexp.reduce(z)", "/ z.sum()"),
    "bandit divided outside": (r"p_a exp\(-eta loss\) is divided by p_a",
        "-= eta * loss / np.exp(z[arm])", "= z[arm] - eta * loss - z[arm]"),
    "bandit first arm": ("arm a plays no part",
        "[arm] -= eta * loss / np.exp(z[arm])", "[0] -= eta * loss / np.exp(z[0])"),
    "bandit in place": ("changed its argument z.*make a copy", "= z.copy()\n    z", ""),
    "bandit list": ("a list, expected an array",
        "z - np.logaddexp.reduce(z)", "list(z - np.logaddexp.reduce(z))"),
    "bandit max forgotten": ("the largest entry is subtracted only in exp",
        "logaddexp.reduce(z)", "log(np.exp(z - z.max()).sum())"),
    "bandit minus max": ("the largest entry is subtracted: subtract the log",
        "np.logaddexp.reduce(z)", "z.max()"),
    "bandit minus sum of exp": ("the sum of exp is subtracted",
        "logaddexp.reduce(z)", "exp(z).sum()"),
    "bandit no eta": ("eta is missing", " eta *", ""),
    "bandit no probability": ("the loss is not divided by p_a", "/ np.exp(z[arm])", ""),
    "bandit not normalised": ("the result is not normalised", "- np.logaddexp.reduce(z)", ""),
    "bandit nothing": ("there is no `return`", "return z -", "z -="),
    "bandit overflow": ("subtract the largest one before exp",
        "logaddexp.reduce(z)", "log(np.exp(z).sum())"),
    "bandit own entry normalised": ("only the entry of the arm that was played is normalised",
        "return z - np.logaddexp.reduce(z)", "z[arm] -= np.logaddexp.reduce(z)\n    return z"),
    "bandit own entry only": ("only the arm's own entry came back", "z - np", "z[arm] - np"),
    "bandit p returned": ("this is p: return its logarithm",
        "z - np.logaddexp.reduce(z)", "np.exp(z - np.logaddexp.reduce(z))"),
    "bandit plus logsumexp": ("the log of the sum of exp is added", "z - np", "z + np"),
    "bandit powers returned": ("this is p, not yet divided by the sum",
        "z - np.logaddexp.reduce", "np.exp"),
    "bandit sign": ("the arm gets likelier with a loss", "-= eta", "+= eta"),
    "bandit times probability": ("the loss is multiplied by p_a", "loss /", "loss *"),
    "bandit uniform": ("multiplied by k, as if p were uniform", "/ np.exp(z[arm])", "* len(z)"),
    "bandit z times exp": ("z_a is multiplied by exp",
        "-= eta * loss / np.exp(z[arm])", "*= np.exp(-eta * loss / np.exp(z[arm]))"),
})  # fmt: skip
def bandit_step(z, arm, loss, eta):
    z = z.copy()
    z[arm] -= eta * loss / np.exp(z[arm])
    return z - np.logaddexp.reduce(z)


@wrong("ex06.2", "bandit in p", "a p is too small or too large for a float")
def bandit_step(z, arm, loss, eta):
    p = np.exp(z)
    p[arm] *= np.exp(-eta * loss / p[arm])
    return np.log(p / p.sum())


@wrong("ex06.2", "bandit math exp", "exp of a large number is too large")
def bandit_step(z, arm, loss, eta):
    z = z.copy()
    z[arm] -= eta * loss / math.exp(z[arm])
    shift = max((x for j, x in enumerate(z) if j != arm), default=0.0)
    return z - shift - math.log(sum(math.exp(x - shift) for x in z))


@wrong("ex06.2", "bandit math log", "0 has no logarithm")
def bandit_step(z, arm, loss, eta):
    p = [math.exp(x) for x in z]
    p[arm] *= math.exp(-eta * loss / p[arm])
    return np.array([math.log(x / sum(p)) for x in p])


@wrong("ex06.2", "bandit math log of sum", "subtract its largest entry before exp")
def bandit_step(z, arm, loss, eta):
    z = z.copy()
    z[arm] -= eta * loss / math.exp(z[arm])
    return z - math.log(sum(math.exp(x) for x in z))


@wrong("ex06.2", "bandit p by sum", "this is p, divided by its sum")
def bandit_step(z, arm, loss, eta):
    p = np.exp(z)
    p[arm] *= np.exp(-eta * loss / p[arm])
    return p / p.sum()


@wrong("ex06.2", "bandit probability after", "the p_a from after the step")
def bandit_step(z, arm, loss, eta):
    after = z.copy()
    after[arm] -= eta * loss
    after -= np.logaddexp.reduce(after)
    z = z.copy()
    z[arm] -= eta * loss / np.exp(after[arm])
    return z - np.logaddexp.reduce(z)


@wrong(
    "ex06.2", "bandit subtracted from p", "subtracted from p_a: subtract eta loss / p_a from z_a"
)
def bandit_step(z, arm, loss, eta):
    p = np.exp(z)
    p[arm] -= eta * loss / p[arm]
    z = np.log(p)
    return z - z.max() - np.log(np.exp(z - z.max()).sum())


@edits("ex06.3", {
    "best all bounds": ("these are the means of all step sizes", "[j], j", ", j"),
    "best argmax": ("this is the largest of the step sizes' means", "argmin", "argmax"),
    "best best of all": ("this is the bound for the best of all step sizes",
        "bounds[j]", "np.sqrt(m * (distances**2).mean()) * G"),
    "best exchanged": ("bound and j are exchanged", "bounds[j], j", "j, bounds[j]"),
    "best first not halved": ("the first term is not divided by 2", "(2 * c)", "c"),
    "best first step": ("this is the first step size's", "bounds.argmin()", "0"),
    "best g not squared": ("G is not squared", "* G**2", "* G"),
    "best in place": ("changed its argument distances.*make a copy",
        "bounds = (distances**2)", "distances *= distances\n    bounds = distances"),
    "best j float": (r"the float \d\.0, expected an int", "[j], j", "[j], float(j)"),
    "best j from one": ("j is counted from 1", "[j], j", "[j], j + 1"),
    "best j is c": ("j is the step size", "[j], j", "[j], c[j]"),
    "best j of argmax": ("j is that of the largest mean",
        "j = bounds.argmin()\n    return bounds[j], j", "return bounds.min(), bounds.argmax()"),
    "best j sorted": ("the position among the sorted step sizes",
        "bounds =", "c = np.sort(c)\n    bounds ="),
    "best j sorted down": ("from the largest on", "bounds =", "c = np.sort(c)[::-1]\n    bounds ="),
    "best kappa one": ("as in the paper", "**2 / 2", "**2"),
    "best largest step": ("this is the largest step size's", "bounds.argmin", "c.argmax"),
    "best last of equal": ("of equal ones this is the last",
        "bounds.", "len(c) - 1 - bounds[::-1]."),
    "best last step": ("this is the last step size's", "bounds.argmin()", "len(c) - 1"),
    "best nearest step": ("the step size nearest to the best of all",
        "j = bounds", "best = np.sqrt((distances**2).mean() / m) / G\n    j = abs(c - best)"),
    "best no first term": ("the first term is missing", " (distances**2).mean() / (2 * c) +", ""),
    "best no g": ("G is missing in c m", " * G**2", ""),
    "best no m": ("m is missing in c m", " * m *", " *"),
    "best no second term": ("the second term is missing", "+ c * m * G**2 / 2", ""),
    "best not squared": ("the distances are not squared", "(distances**2)", "distances"),
    "best nothing halved": ("no term is divided by 2",
        "(2 * c) + c * m * G**2 /", "c + c * m * G**"),
    "best only bound": ("expected the 2 values bound, j", "[j], j", "[j]"),
    "best smallest step": ("this is the smallest step size's", "bounds.", "c."),
    "best square of mean": ("the mean of the distances is squared",
        "(distances**2).mean()", "distances.mean() ** 2"),
    "best sum of squares": ("the squares of the distances are added up", "mean()", "sum()"),
    "best times c": (r"distance\^2 / 2 times c", "(2 * c)", "2 * c"),
})  # fmt: skip
def best_step(distances, c, G, m):
    bounds = (distances**2).mean() / (2 * c) + c * m * G**2 / 2
    j = bounds.argmin()
    return bounds[j], j


@wrong("ex06.3", "best best of most", "j is the best step size of most tasks")
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    bounds = table.mean(0)
    j = np.bincount(table.argmin(1)).argmax()
    return bounds[j], j


@wrong("ex06.3", "best least task", "this is the least over the tasks")
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    bounds = table.min(0)
    j = bounds.argmin()
    return bounds[j], j


@wrong("ex06.3", "best own steps", "each task has its own step size here, though j is right")
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    bounds = table.mean(0)
    return table.min(1).mean(), bounds.argmin()


@wrong(
    "ex06.3",
    "best own steps first",
    "each task has its own step size here, and j is that of the first",
)
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    return table.min(1).mean(), table[0].argmin()


@wrong(
    "ex06.3", "best own steps most", "each task has its own step size here, and j is that of most"
)
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    return table.min(1).mean(), np.bincount(table.argmin(1)).argmax()


@wrong("ex06.3", "best row of table", "counts through the rows of a table")
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    return table.min(), table.argmin()


@wrong("ex06.3", "best sum", "this is the sum over the tasks")
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    bounds = table.sum(0)
    j = bounds.argmin()
    return bounds[j], j


@wrong("ex06.3", "best wrong axis", "mean over the step sizes, and the least over the tasks")
def best_step(distances, c, G, m):
    table = distances[:, None] ** 2 / (2 * c) + c * m * G**2 / 2
    bounds = table.mean(1)
    j = bounds.argmin()
    return bounds[j], j


@wrong("ex06.1", "ogd projected at the end", "the points are projected only at the end")
def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w = w - c * (w - z_i)
    points = np.array(points)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.maximum(1.0, lengths / radius), total


include("experiments.py", "ex06.4")
