"""The sandbox's end of the wire: a student's file, which answers calls.

It holds no tests and no expected values, so that nothing in it needs to be kept from the student's
code. What it says is an answer, never a mark.
"""

import builtins
import faulthandler
import os
import socket
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fedlab_grade import wire
from fedlab_grade.answer import Failure, Raised
from fedlab_grade.callables import name_of
from fedlab_grade.student import NotGradable, Student
from fedlab_grade.textfile import package_import

TURN = threading.Lock()  # a student's threads may ask at the same time
_take, _give = os.read, os.write  # now: a student's file may put something else in their place
# It is not found either; but an answer that catches that would go on without.
PACKAGE = (
    "The file imports the course's package, which holds answers to the exercises: an answer does "
    "without it."
)
EARLY = 0.9  # of the limit of time: then it writes down where it is


class Ask:
    """A stand-in for a callable of the parent."""

    def __init__(self, line: socket.socket, place: int) -> None:
        self._line, self.place = line, place
        self.__name__ = self.__qualname__ = "function"  # as of any that is given at home

    def __copy__(self) -> "Ask":
        return self

    def __deepcopy__(self, memo: object) -> "Ask":
        return self

    def __call__(self, *arguments: object, **named: object) -> object:
        call = {"kind": "ask", "function": self.place, "arguments": [*arguments], "named": named}
        with TURN:
            _send(self._line, call)
            reply = receive(self._line)
        if reply["kind"] == "value":
            return reply["value"]
        error = getattr(builtins, reply["error"], RuntimeError)
        raise error(reply["message"])


def serve(line: socket.socket) -> None:
    """Answer requests until there are no more."""
    student: Student | None = None
    while True:
        try:
            request = receive(line)
        except EOFError:
            return
        faulthandler.dump_traceback_later(EARLY * request["limit"], file=2)
        if request["kind"] == "load":
            reply: bytes | dict[str, object] = {"kind": "loaded"}
            sys.argv[:] = [request["file"]]  # a file may read them when it is loaded
            text = request["text"].tobytes().decode("utf-8", "surrogatepass")
            try:
                if place := package_import(text):
                    raise NotGradable(PACKAGE + place)
                student = Student(Path(request["file"]), text)
            except NotGradable as error:
                reply = {"kind": "not gradable", "message": str(error)}
        else:
            assert student is not None
            reply = answer(student, request)
        faulthandler.cancel_dump_traceback_later()
        with suppress(Exception):  # the student may have put something else in their place
            sys.stdout.flush()
            sys.stderr.flush()
        _send(line, reply)


def answer(student: Student, request: dict[str, Any]) -> bytes | dict[str, object]:
    name, student.parts = request["name"], request["parts"]
    given, named = request["arguments"], request["named"]
    try:
        return student.reply(name, given, named, request["seed"], _place)
    except Failure as told:
        failure = told
    except BaseException as odd:  # in the middle of telling about another one
        kind = name_of(type(odd))[:80]
        message = f"{name} raised an exception that cannot be shown: to look at it raises {kind}."
        failure = Raised(message)
    return {"kind": "failed", "status": failure.status, "message": str(failure),
            "likely": failure.likely, "kinds": [*getattr(failure, "kinds", ())]}  # fmt: skip


def receive(line: socket.socket) -> Any:
    return wire.receive(partial(_read, line), partial(Ask, line))


def _read(line: socket.socket, size: int) -> bytes:
    out = bytearray()
    while len(out) < size:
        piece = _take(line.fileno(), min(1 << 20, size - len(out)))
        if not piece:
            raise EOFError
        out += piece
    return bytes(out)


def _place(function: object) -> int | None:
    return function.place if type(function) is Ask else None


def _send(line: socket.socket, message: bytes | dict[str, object]) -> None:
    rest = memoryview(message if type(message) is bytes else wire.encode(message, _place))
    while rest:
        rest = rest[_give(line.fileno(), rest) :]
