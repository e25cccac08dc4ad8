"""Seconds of a search on this process's threads, beside the same search in two processes."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from typing import Any

from fedlab_edu import FedProx, digits, mlp, random_search, tune
from fedlab_edu.search.space import FEDEX

WORKERS = 2
TITLE = "8 arms in two processes"
SIZES = {
    "processes, MLP 64-32-10, 50 rounds": (32, 50),
    "processes, MLP 64-32-10, 200 rounds": (32, 200),
    "processes, MLP 64-512-10, 50 rounds": (512, 50),
}


def measured(size: tuple[int, int]) -> dict[str, Any]:
    """Random search over FedEx's space, 10 of 42 clients a round."""
    hidden, rounds = size
    fed, model = digits(), mlp(64, hidden, 10)
    search = random_search(model, fed, FEDEX, 8 * rounds, rounds, method=FedProx())
    first = random_search(model, fed, FEDEX, 8, 1, method=FedProx())
    tune(first, model, fed)
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        begin = perf_counter()
        tune(first, model, fed, executor=pool)
        start, begin = perf_counter() - begin, perf_counter()
        tune(search, model, fed, executor=pool)
        apart, begin = perf_counter() - begin, perf_counter()
    tune(search, model, fed)
    here = perf_counter() - begin
    return {
        "here (s)": here, "processes (s)": apart, "ratio": here / apart, "their start (s)": start
    }  # fmt: skip
