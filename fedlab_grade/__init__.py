"""Release exercises, check answers at home, grade a class in a sandbox, and report the marks."""
