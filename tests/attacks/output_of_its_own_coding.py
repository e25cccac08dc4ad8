# The right answer, after putting a stream of its own in the place of the output, as on Windows.
# fails: nothing
# says:
# ruff: noqa

import io
import sys

sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
sys.stderr = io.TextIOWrapper(sys.stderr.buffer, encoding="utf-8")
print("Größe \u2603 \U0001f600")
print("Größe", file=sys.stderr)
