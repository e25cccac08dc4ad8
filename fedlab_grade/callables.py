"""Callables that are sent by their numbers, and names and texts that come back."""

from collections.abc import Callable
from typing import Any


class Malformed(ValueError):
    """A message that does not keep to the format."""


def name_of(kind: type) -> str:
    """Return the name of a type, whatever it does to hide it."""
    name = type.__dict__["__name__"].__get__(kind)
    return name if type(name) is str else "value"


def clean(text: str, length: int) -> str:
    """Return text that can be shown anywhere: no lone surrogates or control characters, and cut."""
    text = text[: length + 1].encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
    return text if len(text) <= length else text[:length] + "..."


class Functions:
    """The callables that were sent, by their numbers."""

    def __init__(self) -> None:
        self._sent: list[Callable[..., Any]] = []

    def place(self, function: Callable[..., Any]) -> int:
        """Return the number of a function."""
        self._sent.append(function)
        return len(self._sent) - 1

    def known(self, function: Callable[..., Any]) -> int | None:
        """Return the number of a function that was sent before, None for any other."""
        return next((i for i, sent in enumerate(self._sent) if sent is function), None)

    def at(self, number: int) -> Callable[..., Any]:
        if not 0 <= number < len(self._sent):
            raise Malformed("no such function")
        return self._sent[number]
