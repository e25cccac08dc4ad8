"""The student's commands: check, watch, hint and progress."""
