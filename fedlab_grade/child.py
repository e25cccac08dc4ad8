"""The process in which students' files run; see `fedlab_grade.run` for the other end.

    python -m fedlab_grade.child [MODULE_TO_LOAD...] < JOB

It sends its events to standard error. Students' code finds the standard streams empty and mute.
"""

import faulthandler
import json
import os
import sys
from contextlib import suppress
from importlib import import_module

import pytest
import torch

from fedlab_grade import plugin

# The plugins and settings of the folder, and pytest's own output, have no part in grading.
OPTIONS = [
    "--noconftest", "--assert=plain", "--capture=no", "-o", "addopts=", "-p", "no:terminal",
    "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:warnings",
    "-p", "no:unraisableexception", "-p", "no:threadexception",
]  # fmt: skip


def main() -> None:
    """Grade the files of the job, one after the other."""
    for name in sys.argv[1:]:
        with suppress(ImportError):
            import_module(name)
    job = json.loads(sys.stdin.readline() or "null")
    if job is None:  # it is not needed
        return
    channel = os.fdopen(os.dup(2), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    faulthandler.enable(channel)
    torch.set_num_threads(1)
    recorder = plugin.Recorder(job["question"], job["skip"], job["limit"], channel)
    code = pytest.main([job["tests"], *OPTIONS], plugins=[plugin, recorder])
    if code == pytest.ExitCode.USAGE_ERROR:
        recorder.send("broken", message=f"pytest cannot run {job['tests']}")
    os._exit(0)  # at once, even if a student's thread is still at work


if __name__ == "__main__":
    main()
