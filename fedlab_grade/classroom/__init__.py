"""What an instructor does: hand out, take in, grade, report."""
