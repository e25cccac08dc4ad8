"""Exercise 4: what FedEx's first round costs, alone and in successive halving."""

import random

from fedlab_edu.search.schedules import survivors
from fedlab_edu.tuners.fedex import Theta

ROWS, CLIENTS, IMAGES, ROUNDS = 27, 10, 9, 8
ARMS = {"alone": 1, "halving": 9}
STOPS, ETA = (2, 4), 3


def error_found(where: str, first: str, seed: int) -> float:
    """Return the error rate of the row that FedEx, with aggressive steps, names in the end.

    No model is trained: a client that uses a row gets an image wrong with the row's error rate, in
    each round. An arm has a level between 0.2 and 0.8, and 27 rows within 0.15 of it. Ten clients
    of nine images each report in a round; the baseline is the mean score of the round before.

    Args:
        where: "alone", one arm for 8 rounds; "halving", nine arms, of which a third go on after
            rounds 2 and 4, by their last mean scores.
        first: the baseline of the first round is 0 with "zero"; "skip" leaves theta as it is then.
        seed: of the arms and of all draws. The first arm is the same in both places.
    """
    gens = [random.Random(1000 * seed + a) for a in range(ARMS[where])]
    alive, means = [*range(len(gens))], [0.0] * len(gens)
    thetas = [Theta.uniform(ROWS) for _ in gens]
    rates = []
    for gen in gens:
        level = gen.uniform(0.2, 0.8)
        rates.append([level + gen.uniform(-0.15, 0.15) for _ in range(ROWS)])
    for t in range(1, ROUNDS + 1):
        for a in alive:
            row = thetas[a].draw([gens[a].random() for _ in range(CLIENTS)])
            wrong = [sum(gens[a].random() < rates[a][j] for _ in range(IMAGES)) for j in row]
            score = [w / IMAGES for w in wrong]
            if t > 1 or first == "zero":
                thetas[a] = thetas[a].update(row, score, [1.0] * CLIENTS, means[a])
            means[a] = sum(score) / CLIENTS
        if t in STOPS and len(alive) > 1:
            alive = [alive[i] for i in survivors([means[a] for a in alive], ETA)]
    z = thetas[alive[0]].z
    return rates[alive[0]][z.index(max(z))]
