"""Communication rounds: runs, tuners and round results."""
