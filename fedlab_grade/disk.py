"""Write files whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a place beside a file to write to; at the end it takes the file's place at once.

    An old file stays until then. After an error nothing is left beside it. A link stays a link, and
    a device, such as ``/dev/stdout``, is written to.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")  # no *.json that a kill would leave
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Put a text in its place at once, with plain line ends."""
    with whole(path) as beside:
        beside.write_text(text, encoding=encoding, newline="\n")


def write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")  # in ASCII: lone surrogates fit in, too
