"""Write files whole or not at all."""

import json
import os
from pathlib import Path


def write_json(path: Path, value: object) -> None:
    """Put JSON in its place at once.

    Raises:
        OSError: it cannot be; then nothing is left beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps(value, indent=1, ensure_ascii=True)  # lone surrogates fit in, too
    try:
        beside.write_text(text + "\n", encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
