"""For tests that need isolation: where it is missing they skip, but in CI they fail."""

import os

import pytest

from fedlab_edu.grading import doctor
from fedlab_edu.grading.sandbox import Way


def need(way: Way, may_be_missing: str = "") -> None:
    """Skip or fail unless this way works here.

    Args:
        may_be_missing: part of the reason for which even CI may skip.
    """
    finding = doctor.tried(way)
    if finding.works:
        return
    reason = f"no isolation by {way}: {finding.why}"
    excused = may_be_missing and may_be_missing in finding.why
    if os.environ.get("CI") and not excused:
        pytest.fail(reason)
    pytest.skip(reason)
