"""MicroPython for live cells: packed into the book, and run by the build.

It is taken from node_modules, where ``npm ci`` puts the version of package-lock.json.
"""

import base64
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from .modules import collect

HERE = Path(__file__).parent
MODULES = Path(__file__).parents[3] / "node_modules"
TO_WRITE = "NotImplementedError: write the function here"
ENGINE = MODULES / "@micropython/micropython-webassembly-pyscript"


def first_values(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the value that each control has at first."""
    return {
        name: one["options"][0] if "options" in one else one["value"]
        for name, one in cell["controls"].items()
    }


def request(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the message of the page's first run of a cell."""
    names = ("source", "text", "view", "check", "data", "standard")
    return {**{name: cell[name] for name in names}, "values": first_values(cell)}


def run(cell: dict[str, Any], data: str) -> dict[str, Any]:
    """Run a cell in MicroPython, in Node, and return the worker's answer.

    Raises:
        RuntimeError: Node fails.
    """
    modules: dict[str, str] = {}
    for name in cell["modules"]:
        collect(name, modules)
    node = shutil.which("node") or str(Path(sys.executable).with_name("node"))
    message = {"modules": modules, "data": {cell["data"]: data} if data else {},
               "request": request(cell)}  # fmt: skip
    done = subprocess.run(
        [node, HERE / "check.mjs", ENGINE / "micropython.mjs"],
        input=json.dumps({"worker": _worker(), "message": message}),
        capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr or done.stdout)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def check(cell: dict[str, Any], data: str, printed: str) -> None:
    """Run a cell in the browser's Python, and compare what it prints.

    A cell without a view is a question: its function is to be written, and says so.

    Raises:
        RuntimeError: the cell fails there, or prints something else.
    """
    answer = run(cell, data)
    error, seen = answer.get("error", ""), answer["printed"]
    if not cell["view"] and error.strip().endswith(TO_WRITE):
        return
    if error:
        raise RuntimeError(f"in the browser's Python: {error}")
    if seen.split() != printed.split():
        raise RuntimeError(f"the browser's Python prints {seen!r}, and the build {printed!r}")


def pack(outdir: Path, modules: dict[str, str], data: dict[str, str]) -> None:
    """Write what pages load to _static/live: the engine, the modules and each record.

    All are classic scripts: a page that is opened from a folder may neither fetch a file nor
    import a module.

    Raises:
        FileNotFoundError: the engine is not in node_modules.
        ValueError: the engine's script is not as expected.
    """
    target = Path(outdir, "_static/live")
    target.mkdir(parents=True, exist_ok=True)
    script = _classic((ENGINE / "micropython.mjs").read_text(encoding="utf-8"))
    packed = gzip.compress((ENGINE / "micropython.wasm").read_bytes(), mtime=0)
    wasm = base64.b64encode(packed).decode()
    whole = {"worker": _worker().replace("/*ENGINE*/", script), "wasm": wasm, "modules": modules}
    texts = {"engine.js": f"liveLoaded('engine', {json.dumps(whole)});\n"}
    for name, text in data.items():
        texts[f"{Path(name).stem}.js"] = f"liveLoaded({json.dumps(name)}, {json.dumps(text)});\n"
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")


def _worker() -> str:
    text = (HERE / "worker.js").read_text(encoding="utf-8")
    python = (HERE / "run.py").read_text(encoding="utf-8")
    return text.replace('"/*RUN*/"', json.dumps(python))


def _classic(module: str) -> str:
    """Turn the engine's module into text for a classic worker."""
    for old, new in (
        ("import.meta.url", "self.location.href"),
        ("export default", "0,"),
        ("export async function", "async function"),
    ):
        if old not in module:
            raise ValueError(f"micropython.mjs has no {old!r}; allowed: version 1.27.0")
        module = module.replace(old, new)
    return module
