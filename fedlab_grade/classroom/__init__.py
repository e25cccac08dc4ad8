"""The instructor's commands: grade, report, release and try.

A command that cannot be carried out raises a `Refusal`: one sentence for the instructor.
"""
