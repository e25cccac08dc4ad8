"""An assignment that the tests of grading grade; it is no test of this project."""

collect_ignore = ["test_hw.py"]
