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
from typing import Any, TextIO

import pytest
import torch

from fedlab_grade import plugin

# The plugins and settings of the folder, and pytest's own output, have no part in grading.
OPTIONS = [
    "--noconftest", "--assert=plain", "--capture=no", "-o", "addopts=", "-p", "no:terminal",
    "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:warnings",
    "-p", "no:unraisableexception", "-p", "no:threadexception",
]  # fmt: skip


def begin() -> tuple[dict[str, Any], TextIO]:
    """Return the job, and the channel for events, once the standard streams lead nowhere."""
    job = json.loads(sys.stdin.readline() or "null")
    if job is None:  # it is not needed
        os._exit(0)
    channel = os.fdopen(os.dup(2), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(null, stream)
    torch.set_num_threads(1)
    return job, channel


def run_tests(job: dict[str, Any], recorder: plugin.Recorder) -> None:
    code = pytest.main([job["tests"], *OPTIONS], plugins=[plugin, recorder])
    if code == pytest.ExitCode.USAGE_ERROR:
        recorder.send("broken", message=f"pytest cannot run {job['tests']}")


def main() -> None:
    """Grade the files of the job, one after the other."""
    for name in sys.argv[1:]:
        with suppress(ImportError):
            import_module(name)
    job, channel = begin()
    os.dup2(1, 0)
    faulthandler.enable(channel)
    run_tests(job, plugin.Recorder(job["question"], job["skip"], job["limit"], channel))
    os._exit(0)  # at once, even if a student's thread is still at work


if __name__ == "__main__":
    main()
