"""Call the functions of a student's file in this process, and put exceptions into words.

Answers are checked so at home, on their author's machine. Nothing here keeps hostile code in check.
"""

import builtins
import inspect
import linecache
import random
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.random  # now: NumPy would load it in each fork that draws a number
import torch

from fedlab_grade import callables, wire
from fedlab_grade.advice import advice, first_line
from fedlab_grade.answer import Answer, Failure, NotWritten, Raised
from fedlab_grade.notebook.load import because, load
from fedlab_grade.printing import kind, printable
from fedlab_grade.release import NOT_WRITTEN
from fedlab_grade.textfile import HEAD, TOO_DEEP, Unusable, lines_of, place_of, text_of

FRAMES = 4  # of a traceback, the innermost
MISSING = object()
JUPYTER = "Lines with % or ! are for Jupyter only: take them out, or hand in the notebook."


class NotGradable(Exception):
    """The file cannot be run at all, so that no question has an answer yet."""


class Student:
    """The functions of one file.

    Args:
        text: what the file holds; None to read it.
    """

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self.reset()
        self.lost: dict[str, str] = {}  # names that a notebook could not make, each with the reason
        self.module = ModuleType(f"student_{path.stem}")
        self.module.__file__ = str(path)
        sys.modules[self.module.__name__] = self.module  # dataclasses look themselves up there
        try:
            source = decoded(path.read_bytes()) if text is None else text.removeprefix("\ufeff")
            self._lines = lines_of(source)
            linecache.cache[str(path)] = len(source), None, self._lines, str(path)  # for tracebacks
            if not (notebook := source.startswith(HEAD)):
                code = compile(source, str(path), "exec", dont_inherit=True)
        except SyntaxError as error:
            line = f"\n  {error.text.strip()}" if error.text else ""
            at = f"line {error.lineno}" if error.lineno else "the file"
            told = f"{type(error).__name__}: Python cannot read {at}: {error.msg}{line}"
            for_jupyter = (error.text or "").lstrip().startswith(("%", "!"))
            raise NotGradable(f"{told}\n{JUPYTER}" if for_jupyter else told) from None
        except (ValueError, RecursionError, MemoryError) as error:
            why = str(error) if isinstance(error, ValueError) else f"it is {TOO_DEEP}"
            raise NotGradable(f"Python cannot read the file: {why}") from None
        try:
            if notebook:
                self.lost = load(self.module, source, str(path))
            else:
                exec(code, vars(self.module))
        except BaseException as error:  # sys.exit() and the like included
            told = f"Running the file raised {self._told(error)}"
            likely = advice(error)
            raise NotGradable(f"{told}\nLikely: {likely}." if likely else told) from None
        finally:
            torch.set_default_device(None)  # what a file sets would hold for the tests too

    def reset(self) -> None:
        self.converted: list[Failure] = []
        self.parts: dict[str, Callable[..., Any]] = {}

    def call(self, name: str, *arguments: object) -> Answer:
        """Return what the student's function makes of copies of the arguments.

        Args:
            arguments: tensors, arrays, numbers, callables, and lists and tuples of them.

        Raises:
            Failure: there is no such function.
            NotWritten: it is still the stub.
            Raised: it raises an exception.
            AssertionError: one of the callables has raised it.
        """
        before = list(map(_bytes, arguments))
        value, names, after = self.run(name, arguments, {}, None)
        pairs = zip(names, before, map(_bytes, after), strict=True)
        changed = tuple(parameter for parameter, old, new in pairs if old != new)
        short = {n: text for n, a in zip(names, arguments, strict=True) if (text := printable(a))}
        return Answer(name, value, short, changed, converted=self.converted)

    def run(
        self, name: str, arguments: Sequence[object], named: Mapping[str, object], seed: int | None
    ) -> tuple[Any, list[str], list[object]]:
        """Return what `call` looks at: the value, the parameters' names, the arguments afterwards.

        All are copies of plain types, at home as over the wire; a value of another type becomes a
        `wire.Unknown`.

        Args:
            named: arguments by keyword.
            seed: of all global generators of random numbers; None leaves them as they are.
        """
        sent = callables.Functions()
        given, by_name = wire.unpack(wire.encode([[*arguments], dict(named)], sent.place), sent.at)
        try:
            reply = wire.unpack(self.reply(name, given, by_name, seed, sent.known), sent.at)
        except callables.Malformed as error:
            raise Failure(f"{name} returned what is no answer ({error}).") from None
        return reply["value"], reply["names"], reply["after"]

    def reply(
        self,
        name: str,
        arguments: Sequence[object],
        named: Mapping[str, object],
        seed: int | None,
        place: Callable[[Any], int | None],
    ) -> bytes:
        """Call the function, and return the encoded reply that `run` decodes.

        Args:
            place: the numbers of callables, see `wire.encode`.

        Raises:
            Failure: as `call`, or the reply cannot be encoded.
        """
        value, names = self._value(name, arguments, named, seed)
        reply = {"kind": "value", "value": value, "names": names, "after": arguments}
        try:
            return wire.encode(reply, place)
        except wire.Refused as error:
            told = f"returned {error}"
            with suppress(wire.Refused):
                wire.encode(value)
                told = f"left {error} in its arguments"
        except MemoryError:
            told = "returned more than the memory holds"
        except Exception as error:  # of an object that does not let itself be looked at
            told = f"returned what raises {callables.name_of(type(error))[:80]}"
        raise Failure(f"{name} {told}, which is no answer that can be looked at.")

    def _value(
        self, name: str, arguments: Sequence[object], named: Mapping[str, object], seed: int | None
    ) -> tuple[object, list[str]]:
        """Return the function's value, and the names of its parameters."""
        function = vars(self.module).get(name, MISSING)
        if function is MISSING:
            if name in self.lost:
                error = NameError(f"name {name!r} is not defined", name=name)
                raise Raised(f"{name} raised {self._told(error)}")
            if not any(type(value) is FunctionType for value in vars(self.module).values()):
                raise Failure("Your file defines no functions.")
            raise Failure(f"Your file has no function {name}.", "its name is misspelt or changed")
        if not callable(function):
            raise Failure(f"{name} in your file is {kind(function)}, not a function.")
        names = _names(function, len(arguments))
        if seed is not None:
            seed_all(seed)
        module = vars(self.module)
        own = {part: module[part] for part in self.parts if part in module}
        module.update(self.parts)
        try:
            value = function(*arguments, **named)
        except BaseException as error:  # sys.exit() and the like included
            if isinstance(error, AssertionError) and _is_from(error, arguments):
                raise  # it is the test that speaks
            if isinstance(error, NotImplementedError) and first_line(error) == NOT_WRITTEN:
                inner = traceback.extract_tb(error.__traceback__)[-1].name
                calls = "" if inner == name else f"; {name} calls it"
                raise NotWritten(f"{inner} is not written yet{calls}.") from None
            mro = type.__dict__["__mro__"].__get__(type(error))  # whatever it does to hide it
            kinds = [n for k in mro if getattr(builtins, n := callables.name_of(k), None) is k]
            raise Raised(f"{name} raised {self._told(error)}", advice(error), kinds) from None
        finally:
            for part in self.parts:
                module.pop(part, None)
            module.update(own)
            torch.set_default_device(None)
        return value, names

    @contextmanager
    def given(self, parts: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
        """Call the file's functions with these in the place of its own of the same names."""
        self.parts = dict(parts)
        try:
            yield
        finally:
            self.parts = {}

    def _told(self, error: BaseException) -> str:
        """Return the exception as text, and where in the student's own file it happened."""
        frames = traceback.extract_tb(error.__traceback__)
        mine = [f for f in frames if f.filename == str(self.path)][-FRAMES:]
        places = ((place_of(f.lineno or 0, self._lines), f) for f in mine)
        where = [f"\n  {at}, in {f.name.strip('<>')}: {f.line}" for at, f in places if at]
        text = first_line(error)
        told = f": {text}{because(error, self.lost)}" if text else ""
        return f"{callables.name_of(type(error))[:80]}{told}{''.join(where)}"


def decoded(file: bytes) -> str:
    try:
        return text_of(file)
    except Unusable as problem:
        raise NotGradable(f"The file {problem}.") from None


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _is_from(error: BaseException, functions: Sequence[object]) -> bool:
    """Whether an exception has come through one of these functions."""
    codes = {getattr(function, "__code__", None) for function in functions}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _names(function: object, count: int) -> list[str]:
    """Return the names that the student gives to the first arguments."""
    try:
        names = list(inspect.signature(function).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        names = []
    return [*names[:count], *(f"argument {i + 1}" for i in range(len(names), count))]


def _bytes(value: object) -> bytes | None:
    """Return a value as it is sent, by which two are compared; None if it cannot be."""
    try:
        return wire.encode(value, id)
    except wire.Refused:
        return None
