"""Make the student's file of each exercise from its solution: one source for both.

    python -m fedlab_edu.grading.release [SOLUTIONS_DIR] [EXERCISES_DIR]

A solution is a Python file in cells (``# %%``). The answer of each question stands in a cell
tagged ``exercise`` and between the lines ``# BEGIN SOLUTION`` and ``# END SOLUTION``.
"""

import re
import sys
from pathlib import Path

NOT_WRITTEN = "not written yet"
STUB = f"""\
# Your answer goes here: replace the next line.
raise NotImplementedError("{NOT_WRITTEN}")
"""

# A marker that is nearly right would hand the answer out: whatever looks like one must be one.
_LOOKS_LIKE_MARKER = re.compile(r"#\W*(begin|end)\W*(the\W*)?solution", re.IGNORECASE)
_CELL = re.compile(r"# %%(.*)")


def release(text: str, name: str = "solution.py") -> str:
    """The text of a solution with a stub in place of each answer.

    Args:
        name: the file, for error messages.

    Raises:
        ValueError: the markers do not balance, a cell tagged ``exercise`` has no answer to take
            out, or the result is not Python; with the file and the line.
    """
    out: list[str] = []
    begin = 0  # line of the block that is open
    unanswered = 0  # line of the exercise cell in which no block has begun so far

    def require(ok: object, line: int, message: str) -> None:
        if not ok:
            raise ValueError(f"{name}, line {line}: {message}")

    for number, line in enumerate(text.splitlines(), start=1):
        marker = line.strip()
        if marker == "# BEGIN SOLUTION":
            require(not begin, number, f"a solution begins inside the one of line {begin}")
            begin, unanswered = number, 0
            indent = line[: line.index("#")]
            out += [indent + stub for stub in STUB.splitlines()]
        elif marker == "# END SOLUTION":
            require(begin, number, "# END SOLUTION without # BEGIN SOLUTION before it")
            begin = 0
        elif _LOOKS_LIKE_MARKER.search(line):
            require(False, number, f"write the marker {marker!r} as # BEGIN or # END SOLUTION")
        elif cell := _CELL.match(line):
            require(not begin, begin, "# BEGIN SOLUTION without # END SOLUTION in its cell")
            require(not unanswered, unanswered, "an exercise without # BEGIN SOLUTION")
            unanswered = number if '"exercise"' in cell[1] else 0
        if not begin and marker != "# END SOLUTION":
            out.append(line)
    require(not begin, begin, "# BEGIN SOLUTION without # END SOLUTION in its cell")
    require(not unanswered, unanswered, "an exercise without # BEGIN SOLUTION")
    released = "\n".join(out) + "\n"
    try:
        compile(released, name, "exec")
    except SyntaxError as error:
        at = f"{name}, line {error.lineno} of the student's file"
        raise ValueError(f"{at}: it is not Python: {error.msg}") from None
    return released


def main(solutions: str = "solutions", exercises: str = "exercises") -> None:
    """Write the student's file of every solution ``exNN_topic.py``."""
    for source in sorted(Path(solutions).glob("ex[0-9][0-9]_*.py")):
        target = Path(exercises) / source.name
        text = release(source.read_text(encoding="utf-8"), str(source))
        target.write_text(text, encoding="utf-8", newline="\n")
        print(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
