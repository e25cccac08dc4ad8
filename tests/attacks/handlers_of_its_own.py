# The right answer, with its own handlers for signals, crashes, exceptions and the end.
# fails: nothing
# says:
# ruff: noqa

import atexit
import faulthandler
import signal
import sys
import threading

faulthandler.enable()
signal.signal(signal.SIGTERM, lambda *a: None)
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.excepthook = threading.excepthook = lambda *a: None
atexit.register(print, "bye")
