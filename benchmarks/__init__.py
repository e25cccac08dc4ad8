"""Speed, measured against a plain PyTorch loop over clients in the same process."""
