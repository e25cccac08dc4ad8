"""How many random cases a test tries: few at first, up to FUZZ_EXAMPLES where that is set."""

import os

from hypothesis import HealthCheck, settings

GIVEN = os.environ.get("FUZZ_EXAMPLES")


def fuzz(few: int, most: int = 1000) -> settings:
    """The settings of a test of random cases: the same few each time, or others in each run."""
    return settings(
        max_examples=min(most, int(GIVEN)) if GIVEN else few,
        deadline=None,
        derandomize=not GIVEN,
        database=None,
        suppress_health_check=[*HealthCheck],
    )
