"""An answer of a student's function, and the failures that end a test."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fedlab_grade.faults import Fault

IN_PLACE = (
    "+=, x[j] = ..., append and sort change the argument itself: copy it first; x.clone() and, for "
    "arrays and lists, x.copy() make a copy"
)
NOTHING = "a call that returns nothing, such as xs.append(x), gives None"


class Failure(AssertionError):
    """An expectation that does not hold, and the likely mistake, where it is known."""

    status = "failed"  # of the test that it ends

    def __init__(self, message: str, likely: str = "") -> None:
        super().__init__(message)
        self.likely = likely


class NotWritten(Failure):
    """The function is the stub that was handed out, or calls one."""

    status = "not written"


class Raised(Failure):
    """The function raised an exception; kinds: the names of its classes that are Python's own."""

    status = "raised"

    def __init__(self, message: str, likely: str = "", kinds: Collection[str] = ()) -> None:
        super().__init__(message, likely)
        self.kinds = kinds


class Stopped(Failure):
    """A call took all its time, or ended its process; the file answers no further call."""

    status = "stopped"


@dataclass(frozen=True)
class Answer:
    """The value that a student's function returned.

    Fields:
        function: its name.
        given: those of its arguments that are short enough to print, by name.
        changed: the names of the arguments that are not what they were before the call.
        part: which of several returned values this is; "" where there is one.
        converted: what the checks of this test had to convert, in the answers of all its calls.
    """

    function: str
    value: object
    given: Mapping[str, str]
    changed: tuple[str, ...]
    part: str = ""
    converted: list[Failure] = field(default_factory=list, compare=False)

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value}" for name, value in self.given.items())
        return f"{self.function} with {given}" if given else self.function


def failed(answer: Answer, fault: Fault, mistake: str = "", rule: str = "") -> Failure:
    """Return the failure of an answer with this fault, and with the mistake that explains it."""
    own = NOTHING if answer.part and answer.value is None else fault.likely
    likely = IN_PLACE if answer.changed else mistake or own
    part = f"{answer.part} = " if answer.part else ""
    return Failure(f"{rule} {answer} returned {part}{fault.text}.{also(answer)}".strip(), likely)


def also(answer: Answer) -> str:
    """Return the sentence on changed arguments; "" where none is changed."""
    return f" It also changed {changed(answer)}." if answer.changed else ""


def changed(answer: Answer) -> str:
    several = "s" if len(answer.changed) > 1 else ""
    return f"its argument{several} {' and '.join(answer.changed)}"
