"""Searches for hyperparameters: spaces, schedules, races, and the driver `tune`."""
