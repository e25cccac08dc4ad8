"""Exercises: release the student's files from the solutions, check answers, report on them."""
