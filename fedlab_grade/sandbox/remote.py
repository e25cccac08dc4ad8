"""Call the functions of a student's file, which run in a worker at the other end of a wire.

The other end is not trusted: whatever it sends is at most a wrong answer.
"""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fedlab_grade import callables, wire
from fedlab_grade.answer import Failure, NotWritten, Raised, Stopped
from fedlab_grade.options import Limits
from fedlab_grade.sandbox.processes import Worker
from fedlab_grade.student import NotGradable, Student
from fedlab_grade.textfile import lines_of, stopped_at

MESSAGE = 2000  # characters
WORKERS = (
    "processes that the file starts cannot hand tensors on: a DataLoader does without them, with "
    "num_workers=0"
)
FAILURES = {kind.status: kind for kind in (NotWritten, Raised, Failure)}


class _Late(BaseException):
    """The time of a call is up; not an Exception, which the test's own function could catch."""


class _Verdict(BaseException):
    """An assertion of a test's own function; it ends the test, so that no student can catch it."""

    def __init__(self, error: AssertionError) -> None:
        self.error = error


class Remote(Student):
    """The functions of one file, which run in a worker.

    Args:
        file: its name.
        deadline: when there is no time left, as of `time.monotonic`.
        allowed: the seconds until then, in the words of a message; "" for those of the file.
        on_answer: called whenever the file has answered a call, or called a function.
    """

    def __init__(
        self,
        file: str,
        text: str,
        worker: Worker,
        limits: Limits,
        deadline: float,
        allowed: str = "",
        on_answer: Callable[[], object] = lambda: None,
    ) -> None:
        self.path = Path(file)
        self.reset()
        self._lines = lines_of(text)
        self._worker, self._limits, self._deadline = worker, limits, deadline
        worker.keep = limits.output
        self._allowed = allowed or f"all {limits.total:g} seconds for this file"
        self._on_answer = on_answer
        self._over = ""  # why there are no further answers
        # As bytes: JSON would write some letters in six times as many.
        data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        request = {"kind": "load", "file": file, "text": data, "limit": self._time()}
        try:
            reply = self._ask(request, callables.Functions(), "The import of your file")
        except Failure as failure:
            raise NotGradable(str(failure)) from None
        match reply:  # str first: an array, compared with a text, raises
            case {"kind": str("loaded")}:
                return
            case {"kind": str("not gradable"), "message": str(message)}:
                raise NotGradable(callables.clean(message, MESSAGE))
        raise NotGradable("The import of your file gave no sensible answer.")

    @property
    def printed(self) -> bytes:
        """The beginning of what the student's code has printed."""
        return self._worker.printed

    def run(
        self, name: str, arguments: Sequence[object], named: Mapping[str, object], seed: int | None
    ) -> tuple[Any, list[str], list[object]]:
        """Call the function as at home, see `Student.run`."""
        functions = callables.Functions()
        request = {
            "kind": "call", "name": name, "arguments": list(arguments), "named": dict(named),
            "seed": seed, "limit": self._time(), "parts": self.parts,
        }  # fmt: skip
        match self._ask(request, functions, name):
            case {"kind": str("value"), "value": value, "names": list(names),
                  "after": list(after),
                 } if (
                len(after) == len(names) == len(arguments) and {*map(type, names)} <= {str}
            ):  # fmt: skip
                self._on_answer()
                return value, [callables.clean(parameter, 60) for parameter in names], after
            case {"kind": str("failed"), "status": str(status), "message": str(message),
                  "likely": str(likely), "kinds": list(kinds),
                 } if {*map(type, kinds)} <= {str}:  # fmt: skip
                told = callables.clean(message, MESSAGE), callables.clean(likely, 300)
                kind = FAILURES.get(status, Failure)
                raise Raised(*told, kinds) if kind is Raised else kind(*told)
        self._stop(f"{name} gave no sensible answer")

    def _time(self) -> float:
        """Return the seconds that the next call may take."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            self._over = f"{self._allowed} are used up"
        return max(0.0, min(self._limits.call, left))

    def _ask(self, request: dict[str, Any], functions: callables.Functions, who: str) -> Any:
        """Return the reply to a request; on the way, the worker may call what it was given."""
        if self._over:
            raise Stopped(f"{who} was not called: {self._over}.")
        end = time.monotonic() + request["limit"]
        asked = 0
        try:
            self._worker.send(wire.encode(request, functions.place), end)
            while True:
                with _alarm(end):  # a message can be made so that it takes hours to read
                    reply = self._worker.receive(end, functions.at)
                match reply:
                    case {"kind": str("ask"), "function": int(number), "arguments": list(given),
                          "named": dict(named)}:  # fmt: skip
                        asked += 1
                    case _:
                        self._worker.listen()
                        return reply
                if asked > self._limits.asked:
                    often = f"{self._limits.asked:,} times"
                    self._stop(f"{who} called a function that it was given more than {often}")
                self._on_answer()
                with _alarm(end):
                    answer = _called(functions.at(number), given, named)
                self._worker.send(answer, end)
        except (TimeoutError, _Late):
            if time.monotonic() >= self._deadline:
                self._stop(f"{who} was stopped: {self._allowed} are used up")
            self._stop(
                f"{who} did not finish within {request['limit']:.3g} seconds, and was stopped",
                self._too_long(),
            )
        except callables.Malformed as error:
            self._stop(f"{who} sent something that is no answer ({error}), and was stopped")
        except (EOFError, OSError):
            self._stop(f"{who} {self._worker.how_it_ended()}")
        except _Verdict as verdict:
            self._worker.let_go()
            self._over = "the test had ended before"
            raise verdict.error from None

    def _too_long(self) -> str:
        """Return why a call was not done in time, by what it has printed."""
        if b"multiprocessing/" in self.printed:
            return WORKERS
        full = len(self.printed) >= self._worker.keep
        return "a loop that never ends" + ", or prints too much" * full

    def _stop(self, message: str, likely: str = "") -> NoReturn:
        self._worker.listen()
        self._worker.let_go()
        self._over = "an earlier call was stopped"
        printed, _, dump = self.printed.rpartition(b"Timeout (")
        where = stopped_at(dump.decode("utf-8", "replace"), str(self.path), self._lines)
        if where:
            self._worker.printed = printed
        raise Stopped(f"{message}.{where}", likely)


@contextmanager
def _alarm(end: float) -> Iterator[None]:
    """Stop a test's own function at ``end``: it may run for ever on what a student gives to it."""

    def ring(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(1e-3, end - time.monotonic()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _called(function: Callable[..., Any], given: list[Any], named: dict[Any, Any]) -> bytes:
    """Return what a function that the student was given returns or raises, as a message."""
    try:
        value = function(*given, **named)
        return wire.encode({"kind": "value", "value": value})
    except AssertionError as error:
        raise _Verdict(error) from None
    except Exception as error:
        told = {"error": type(error).__name__, "message": callables.clean(str(error), 300)}
        return wire.encode({"kind": "raised"} | told)
