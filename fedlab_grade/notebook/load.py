"""Run the module that a notebook became: what fails costs only those who need it, as in Jupyter."""

import ast
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic, process_time
from types import ModuleType

from fedlab_grade.advice import first_line
from fedlab_grade.callables import name_of
from fedlab_grade.notebook.statements import Definition, Import, Statement, start_of
from fedlab_grade.textfile import HEAD, place_of

# Of the processor's time: what a statement may take, all together, and each one once that is used
# up. In a class the module runs again for each test, so that 3 s become minutes. By the clock, for
# what waits, all together have less than loading the file, which else would not be gradable.
SECONDS, ALL, LEAST, CLOCK = 1.0, 3.0, 0.1, 6.0
ANNOTATIONS = 0x1000000  # the flag of `from __future__ import annotations`
_MAIN = ("__name__ == '__main__'", "'__main__' == __name__")


def load(module: ModuleType, text: str, path: str) -> dict[str, str]:
    """Run the statements of a notebook's module one by one.

    Returns:
        The names that a statement which failed should have made, each with the reason.

    Raises:
        NameError: no answer that is asked for could be made.
        SyntaxError: it is no module.
    """
    tree, made = ast.parse(text, path), vars(module)
    lines, lost = text.split("\n"), dict[str, str]()
    future = any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in tree.body)
    left, clock = ALL, CLOCK
    for node in tree.body:
        one = ast.Module([node], [])
        bound = not isinstance(node, Definition | Import)
        began = process_time(), monotonic()
        try:
            if isinstance(node, ast.If) and ast.unparse(node.test) in _MAIN:
                node.test = ast.copy_location(ast.Constant(True), node.test)
            code = compile(one, path, "exec", ANNOTATIONS * future, dont_inherit=True)
            with _in_time(min(SECONDS, left), clock) if bound else nullcontext():
                exec(code, made)
        except BaseException as error:  # sys.exit() and the like included
            first = start_of(node)
            told = f"{name_of(type(error))}: {first_line(error)}{because(error, lost)}"
            why = f"{place_of(first, lines)} ({lines[first - 1].strip()[:80]}) raised {told}"[:300]
            names = Statement(0, node).binds
            if type(error) is TimeoutError:  # how far it came depends on the machine
                for name in names & made.keys():
                    del made[name]
            lost |= {name: why for name in names if name not in made}
        if bound:
            left -= process_time() - began[0]
            clock -= monotonic() - began[1]
    asked = lines[0].removeprefix(HEAD).split()
    if asked and lost.keys() >= {*asked}:
        raise NameError(f"name {asked[0]!r} is not defined, because {lost[asked[0]]}")
    return lost


def because(error: BaseException, lost: dict[str, str]) -> str:
    """Return why a name is not defined, if it is lost."""
    # An exception of the student's own could lie about its name, and the name be anything.
    name = error.name if type(error) is NameError and type(error.name) is str else ""
    return f", because {lost[name]}" if name in lost else ""


@contextmanager
def _in_time(seconds: float, clock: float) -> Iterator[None]:
    """Raise a TimeoutError after some seconds of the processor's time, or by the clock."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, max(LEAST, seconds), SECONDS, ALL),
        signal.SIGALRM: (signal.ITIMER_REAL, max(LEAST, clock), CLOCK, CLOCK),
    }

    def late(number: int, _: object) -> None:
        _, most, usual, everything = timers[signal.Signals(number)]
        rest = f", the rest of {everything:g} s for all cells" if most < usual else ""
        raise TimeoutError(f"it takes more than {most:.2g} s{rest}")

    before = {number: signal.signal(number, late) for number in timers}
    for timer, most, _, _ in timers.values():
        signal.setitimer(timer, most, most)  # again, where it is caught
    try:
        yield
    finally:
        for number, (timer, *_) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
