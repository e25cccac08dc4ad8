"""What a student does: check, watch, ask for a hint, see how far it is."""
