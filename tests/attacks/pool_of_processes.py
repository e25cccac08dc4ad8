# The right answer, with a pool of processes beside it.
# fails: nothing
# says:
# ruff: noqa

from concurrent.futures import ProcessPoolExecutor


def square(x):
    return x * x


def log_uniform(lo, hi, n, seed, _right=log_uniform):
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(square, [1, 2, 3])) == [1, 4, 9]
    return _right(lo, hi, n, seed)
