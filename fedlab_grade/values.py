"""Call a student's functions for tests with plain values and ``assert``."""

from typing import Any

from fedlab_grade import wire
from fedlab_grade.answer import Failure
from fedlab_grade.faults import mistaken
from fedlab_grade.printing import kind
from fedlab_grade.student import Student

UNCHANGED = "leave the arguments as they are: work on copies"


class Values:
    """A student's functions, for tests that use plain values and ``assert``.

    Values go in and come out as copies of plain types, here as over a wire: tensors without their
    graph, arrays, numbers, strings, and lists, tuples and dicts of these.
    """

    def __init__(self, student: Student) -> None:
        self.student, self.given = student, student.given

    def call(
        self,
        name: str,
        *arguments: object,
        seed: int | None = None,
        echo: bool = False,
        **named: object,
    ) -> Any:
        """Return what the student's function returns.

        Args:
            seed: of all global generators of random numbers; None leaves them as they are.
            echo: return also the list of the arguments as they are after the call.
        """
        value, _, after = self.student.run(name, arguments, named, seed)
        if (odd := unknown(value)) is not None:
            raise Failure(
                f"{name} returned {kind(odd)}, expected a plain torch.Tensor, array, number, "
                "string, list, tuple or dict."
                if odd is value
                else f"{name} returned {kind(value)} with {kind(odd)} in it, expected plain "
                "tensors, arrays, numbers, strings, lists, tuples or dicts.",
                mistaken(odd),
            )
        if echo and (odd := unknown(after, functions=True)) is not None:
            raise Failure(f"{name} put {kind(odd)} into its arguments.", UNCHANGED)
        return (value, after) if echo else value


def unknown(value: object, functions: bool = False) -> object:
    """Return the first part of a value that is of no plain type; None if there is none.

    Args:
        functions: whether those that were given count as plain.
    """
    if isinstance(value, wire.Unknown) or (callable(value) and not functions):
        return value
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        return next((odd for part in value if (odd := unknown(part, functions)) is not None), None)
    return None
