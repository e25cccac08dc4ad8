# The right answer, with its output caught, other settings of the streams, and streams of its own.
# fails: nothing
# says:
# ruff: noqa

import contextlib
import io
import sys

sys.stdout.reconfigure(line_buffering=True)
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
sys.stderr.reconfigure(encoding="utf-8")
_kept = sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
sys.stderr = io.TextIOWrapper(sys.stderr.buffer, encoding="utf-8")
print("Größe \u2603 \U0001f600")
print("Größe", file=sys.stderr)


def fedavg(states, weights, _right=fedavg):
    with contextlib.redirect_stdout(io.StringIO()) as caught:
        print("quiet")
    sys.stdout = sys.__stdout__
    sys.stdout.reconfigure(encoding="utf-8")
    assert caught.getvalue() == "quiet\n"
    return _right(states, weights)
