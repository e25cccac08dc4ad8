# The right answer, beside a thread that prints for ever.
# fails: nothing
# says:
# ruff: noqa

import sys
import threading


def flood():
    while True:
        try:
            sys.stdout.write("x" * 100_000)
        except BaseException:
            pass


threading.Thread(target=flood, daemon=True).start()
