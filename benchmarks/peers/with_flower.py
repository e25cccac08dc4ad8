"""Our FedAvg over Flower: in its simulation, and on a SuperLink and ten SuperNodes as processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.simulation import run_simulation

from benchmarks.peers import B
from benchmarks.peers.with_torch import SETTING, problem
from fedlab_edu import Run, start
from fedlab_edu.flower import client_app, server_app

LONGEST = 900  # seconds until a fleet counts as stuck
BIN, ROOT = Path(sys.executable).parent, Path(__file__).parents[2]
FILES = {
    "app/app.py": (
        "from benchmarks.peers.with_flower import client, server\n"
        "client_app = client()\n"
        "server_app = server(3, {nodes})\n"
    ),
    "app/pyproject.toml": (
        '[project]\nname = "round"\nversion = "1.0.0"\nlicense = "Apache-2.0"\ndependencies = []\n'
        '[tool.flwr.app]\npublisher = "fedlab-edu"\n'
        '[tool.flwr.app.components]\nserverapp = "app:server_app"\nclientapp = "app:client_app"\n'
    ),
    "config.toml": (
        '[superlink]\ndefault = "here"\n'
        '[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    ),
}


def client() -> ClientApp:
    model, fed = problem()
    return client_app(model, lambda context: fed[[context.node_config["partition-id"]]])


def server(rounds: int, nodes: int) -> ServerApp:
    """Return the server's app; all nodes train in each round.

    It writes the time before the first round and after each.
    """
    model, times = problem()[0], Path(os.environ["ROUND_TIMES"])

    def watch(_: Run) -> None:
        with times.open("a") as f:
            print(time.perf_counter(), file=f)

    return server_app(
        lambda config, sizes: start(model, sizes, SETTING),
        watch=watch,
        nodes=nodes,
        rounds=rounds,
        clients=nodes,
    )


def simulated() -> list[float]:
    with folder() as here:
        run_simulation(server(6, B), client(), num_supernodes=B)
        return rounds(here)


def fleet(nodes: int = B) -> list[float]:
    """Return the seconds of rounds over the loopback, without TLS.

    A SuperNode starts a process for each message, which imports PyTorch.
    """
    with folder() as here:
        free = [socket.create_server(("127.0.0.1", 0)) for _ in range(nodes + 1)]
        port, *ports = (s.getsockname()[1] for s in free)
        for s in free:
            s.close()
        for name, text in FILES.items():
            (here / name).parent.mkdir(exist_ok=True)
            (here / name).write_text(text.format(port=port, nodes=nodes))
        link = f"127.0.0.1:{port}"
        with processes() as begin:
            alone = "--disable-runtime-dependency-installation"
            begin("flower-superlink", "--insecure", "--port", str(port), alone)
            while not listens(port):
                time.sleep(0.1)
            for i, own in enumerate(ports):
                node = ("--superlink", link, "--port", str(own), "--node-config")
                begin("flower-supernode", "--insecure", *node, f"partition-id={i}")
            run = [BIN / "flwr", "run", here / "app", "here", "--stream"]
            subprocess.run(run, env=environment(), check=True, stdout=sys.stderr, timeout=LONGEST)
        return rounds(here)


@contextmanager
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        here = Path(name)
        os.environ |= {"ROUND_TIMES": str(here / "times"), "FLWR_HOME": name}
        yield here


def rounds(here: Path) -> list[float]:
    """Return the seconds of each round but the first, in which nodes import PyTorch."""
    times = map(float, (here / "times").read_text().split())
    return [b - a for a, b in pairwise(times)][1:]


def listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def environment() -> dict[str, str]:
    path = f"{BIN}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


@contextmanager
def processes() -> Iterator[Callable[..., None]]:
    """Yield a function that begins a command; at the end kill all that these have begun."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(command: str, *arguments: str) -> None:
        running.append(
            subprocess.Popen([BIN / command, *arguments], env=environment(), stdout=sys.stderr)
        )

    try:
        yield begin
    finally:
        for pid in descendants():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in running:
            process.wait()


def descendants() -> list[int]:
    """Return the processes below this one, parents first, also those in sessions of their own."""
    every = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    parent = {int(pid): int(above) for pid, above in map(str.split, every.stdout.splitlines())}
    found = [os.getpid()]
    for pid in found:
        found += [child for child, above in parent.items() if above == pid]
    return found[1:]
