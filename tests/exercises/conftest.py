"""In this folder: tests of what students hand in; without a student, of the solutions."""

from pathlib import Path

import pytest

from fedlab_grade.plugin import pytest_configure, student

__all__ = ["pytest_configure", "student"]


@pytest.hookimpl(tryfirst=True)  # before markers select tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them here: students get the files."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.grader)
