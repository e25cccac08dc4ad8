# An endless loop that blocks all signals and cancels the report of where it hangs.
# fails: q1
# says: did not finish
# ruff: noqa

import faulthandler
import signal


def fedavg(states, weights):
    faulthandler.cancel_dump_traceback_later()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    while True:
        pass
