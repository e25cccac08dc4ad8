"""For tests that need isolation: where it is missing they skip; in CI the usual way must work."""

import os
from functools import cache

import pytest

from fedlab_grade.sandbox import doctor
from fedlab_grade.sandbox.processes import Way

# FEDLAB_EDU_TEST_WAY=uid runs all attacks as another user; "uid-brief", those that it may change.
_ASKED = os.environ.get("FEDLAB_EDU_TEST_WAY", "bwrap")
BRIEF = _ASKED == "uid-brief"
WAY: Way = "uid" if _ASKED in ("uid", "uid-brief") else "bwrap"
_tried = cache(doctor.tried)


def need(way: Way) -> None:
    """Skip or fail unless this way works here."""
    finding = _tried(way)
    if finding.works:
        return
    reason = f"no isolation by {way}: {finding.why}"
    if os.environ.get("CI") and way == WAY:  # another user may not be able to read root's Python
        pytest.fail(reason)
    pytest.skip(reason)
