"""What an instructor does: grade a class, report, release.

Where a function cannot go on it raises a `Refusal`: one sentence for who typed the command.
"""
