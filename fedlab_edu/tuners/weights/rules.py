"""Federated multiplicative weights, the ancestor of FedEx, as a function of numbers and lists.

Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1.
"""

from math import exp, sqrt

from fedlab_edu.validate import require


def multiplicative_weights(
    p: list[float],
    row: list[int],
    score: list[float],
    rounds: int,
    importance_weighting: bool = False,
) -> list[float]:
    """Return ``p_j prod_(i: row_i = j) exp(-s_i / sqrt(rounds))``, normalised once.

    As printed, a row is punished as often as it is drawn. Where scores s_j > 0 do not change, the
    mean of ``ln p_j`` moves by ``-B p_j s_j / sqrt(rounds)``, and p comes to rest at ``p_j``
    proportional to ``1 / s_j``: not at the best row.

    Args:
        p: (k,), the probabilities from which the rows were drawn.
        row, score: (B,), the row that each client used, and its score.
        rounds: how many rounds there are in all.
        importance_weighting: divide each score by the probability of its row, as FedEx does, so
            that the mean moves by ``-B s_j / sqrt(rounds)``, and the best row wins.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1; they do not divide.
    """
    require(rounds >= 1, "rounds", rounds, "at least 1")
    total = [0.0] * len(p)
    for j, s in zip(row, score, strict=True):
        require(p[j] > 0, "p", p, "above 0 for each row that was drawn")
        total[j] += s / p[j] if importance_weighting else s
    # the smallest exponent of a row with p_j > 0 is 0: nothing overflows, and the sum is above 0
    least = min(t for t, p_j in zip(total, p, strict=True) if p_j > 0)
    new = [
        p_j * exp((least - t) / sqrt(rounds)) if p_j > 0 else 0.0
        for t, p_j in zip(total, p, strict=True)
    ]
    return [x / sum(new) for x in new]
