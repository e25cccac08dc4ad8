"""``python -m benchmarks.peers``: the same round of FedAvg in other packages, beside ours.

MLP 784-128-10, 10 clients with 64 images for training and 16 for validation, minibatches of 32, one
epoch, lr 0.05. A round draws the order of the examples, trains, averages and, where the package
lets it, scores the received and the trained model of each client. Each peer runs in a process of
its own, on all cores unless the label says otherwise; a peer that does not run is a row that says
so. Rounds that compile or connect are left out. The peak is that of the peer's first process. The
result is written to ``book/records/peers.json``, which the book plots.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

RECORD = Path(__file__).parents[2] / "book" / "records" / "peers.json"
PACKAGES = ("torch", "jax", "fedjax", "pfl", "flwr")
# Label -> module, function and arguments.
PEERS: dict[str, tuple[Any, ...]] = {
    "fedlab_edu": ("with_torch", "ours"),
    "plain loop, 1 thread": ("with_torch", "plain", 1),
    "plain loop, 2 threads": ("with_torch", "plain", 2),
    "JAX by hand": ("with_jax", "by_hand"),
    "JAX by hand, 1 core": ("with_jax", "on_one_core"),
    "FedJAX (no scores)": ("with_jax", "with_fedjax"),
    "pfl": ("with_pfl", "rounds"),
    "fedlab_edu in Flower's simulation": ("with_flower", "simulated"),
    "fedlab_edu on ten SuperNodes": ("with_flower", "fleet"),
}
HEAD = f"{'a round of FedAvg':34}{'rounds':>8}{'median':>12}{'least':>12}{'most':>12}{'peak':>12}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description="Rounds of FedAvg.")
    parser.add_argument("--peer", choices=PEERS, help="measure one, and print its seconds as JSON")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file to write")
    options = parser.parse_args(arguments)
    if options.peer:
        print(json.dumps(measured(options.peer)))
        return
    print(HEAD)
    record, rows = about(), {}
    for name in PEERS:
        rows[name] = in_a_process(name)
        print(f"{name:34}{shown(rows[name])}", flush=True)
    options.record.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n")


def measured(name: str) -> dict[str, Any]:
    """Return the seconds of a peer's rounds, and the peak memory of this process."""
    module, function, *given = PEERS[name]
    work: Callable[..., list[float]] = getattr(
        import_module(f"benchmarks.peers.{module}"), function
    )
    times = work(*given)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
    memory = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"times": times, "MiB": memory / 2**20}


def command(name: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.peers", "--peer", name]


def in_a_process(name: str) -> dict[str, Any]:
    """Return a row of the record: rounds, milliseconds and memory, or why there are none."""
    done = subprocess.run(command(name), capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or f"ended with status {done.returncode}"
        return {"missing": said.splitlines()[-1]}
    found = json.loads(done.stdout.splitlines()[-1])
    ms = [round(1e3 * pick(found["times"]), 2) for pick in (median, min, max)]
    return {"rounds": len(found["times"]), "ms": ms, "MiB": round(found["MiB"])}


def shown(row: dict[str, Any]) -> str:
    if "missing" in row:
        return f"  {row['missing'][:80]}"
    times = "".join(f"{t:9.1f} ms" for t in row["ms"])
    return f"{row['rounds']:8}{times}{row['MiB']:8} MiB"


def about() -> dict[str, Any]:
    """Return the day, the machine and how busy it is, and the versions that are installed."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions,
    }


def processor() -> str:
    """Return the processor's model name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
