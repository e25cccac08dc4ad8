"""The instructor's commands: grade, report, release and try.

A command that cannot go on raises a `Refusal`, which is one sentence for the instructor.
"""
