"""In this folder: tests of what students hand in; without a student, of the solutions."""

from fedlab_edu.grading.plugin import pytest_configure, student

__all__ = ["pytest_configure", "student"]
