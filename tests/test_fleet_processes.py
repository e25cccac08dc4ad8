"""A real fleet on this machine: a SuperLink with TLS and node authentication, two SuperNodes."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedlab_edu import Federation, FedEx, LocalHP, Run, digits, load_run, mlp, start
from fedlab_edu.cli import new_app
from fedlab_edu.rounds.communicate import train_clients
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.gather import Sums

pytestmark = [pytest.mark.processes, pytest.mark.long]
BIN, ROOT = Path(sys.executable).parent, Path(__file__).parents[1]
MODEL, N = mlp(64, 32, 10), 2
SECONDS = 60  # for a client to answer
LYING = """
import numpy as np
from flwr.app import ArrayRecord
from fedlab_edu.flower import client_app
from .task import choose, load

def lie(message, context, call_next):
    reply = call_next(message, context)
    in_second = message.content["config"]["round"] == 1
    if in_second and context.run_config["lies"] and context.node_config["partition-id"]:
        w = message.content["arrays"].to_numpy_ndarrays()[0]
        reply.content["arrays"] = ArrayRecord([np.full_like(w, 1e30)])
    return reply

app = client_app(lambda context: choose("model", context.run_config), load, mods=[lie])
"""


class Fleet:
    """The processes of a SuperLink and of N SuperNodes, and their files in a folder.

    Fields:
        seconds: in which all clients answer, however busy this machine is: three times what the
            start took, and half a minute at least.
    """

    def __init__(self, folder: Path, fed: Federation) -> None:
        self.folder = folder
        free = [socket.create_server(("127.0.0.1", 0)) for _ in range(N + 1)]
        self.port, *self.ports = (s.getsockname()[1] for s in free)
        for s in free:
            s.close()
        self.running: dict[str, subprocess.Popen] = {}
        self.seconds = 0.0
        self.env = {
            **os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{BIN}:{os.environ['PATH']}",
            "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "OMP_NUM_THREADS": "1",
            "FLWR_HOME": str(folder / "home"),
        }  # fmt: skip
        (folder / "home").mkdir()
        (folder / "home/config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{folder}/ca.crt"\n'
        )
        new_app(folder / "app")
        (folder / "app/fleet/client_app.py").write_text(LYING)
        with (folder / "app/pyproject.toml").open("a") as f:
            f.write("lies = false\nlargest = 1e3\n")
        for i in range(N):
            parts = {"train": fed.train, "val": fed.val, "test": fed.test}
            arrays = {f"{k}_{a}": t.numpy() for k, p in parts.items()
                      for a, t in zip("xy", p.examples(i), strict=True)}  # fmt: skip
            np.savez(folder / f"{i}.npz", **arrays)

    def run(self, *command: str) -> None:
        """Run a command to its end."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, stdout=-1, stderr=subprocess.STDOUT, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert not done.returncode, done.stdout

    def start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("w") as log:
            self.running[name] = subprocess.Popen(
                command, cwd=self.folder, env=self.env, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a process and its children, in whatever session they are."""
        leader = self.running[name].pid
        every = subprocess.run(
            ["ps", "-eo", "pid=,ppid=,sid="], capture_output=True, text=True, check=True
        ).stdout
        above = {int(a): {int(b), int(c)} for a, b, c in map(str.split, every.splitlines())}
        mine = {leader}
        while grown := {pid for pid, several in above.items() if several & mine} - mine:
            mine |= grown
        for pid in sorted(mine):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        if number == signal.SIGKILL:
            self.running.pop(name).wait()

    def certificates(self) -> None:
        def openssl(*arguments: str) -> None:
            self.run("openssl", *arguments)

        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test")
        openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
        (self.folder / "san").write_text("subjectAltName=IP:127.0.0.1")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
                "-CAcreateserial", "-out", "server.pem", "-extfile", "san")  # fmt: skip
        for i in range(N):
            self.run("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", f"n{i}")

    def superlink(self) -> None:
        self.start(
            "superlink", "flower-superlink", "--ssl-ca-certfile", "ca.crt", "--ssl-certfile",
            "server.pem", "--ssl-keyfile", "server.key", "--host", "127.0.0.1", "--port",
            str(self.port), "--database", "link.db", "--enable-supernode-auth",
            "--disable-runtime-dependency-installation",
        )  # fmt: skip

        def listens() -> bool:
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0

        wait(listens)

    def node(self, i: int) -> None:
        config = f"partition-id={i} data='{self.folder}/{i}.npz'"
        self.start(
            f"node {i}", "flower-supernode", "--root-certificates", "ca.crt", "--superlink",
            f"127.0.0.1:{self.port}", "--port", str(self.ports[i]),
            "--auth-supernode-private-key", f"n{i}", "--node-config", config,
        )  # fmt: skip

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def ended(self, name: str) -> bool:
        """Return whether a process has ended, or was never started."""
        return name not in self.running or self.running[name].poll() is not None

    def reached(self, path: Path, round: int) -> bool:
        """Return whether the file has a round; the run must not end before."""
        ended = self.ended("run")
        found = rounds(path) == round
        assert found or not ended, self.log("run")
        return found

    def keep_nodes(self) -> None:
        """Do what a supervisor does: start the SuperNodes that have ended again."""
        for i in range(N):
            if self.ended(f"node {i}"):
                self.node(i)

    def keep(self, config: str) -> None:
        """Start all that has ended again; submit a run that has not ended well again."""
        if self.ended("superlink"):
            self.superlink()
        self.keep_nodes()
        if self.ended("run"):
            self.begin_run(config)

    def begin_run(self, config: str) -> None:
        config = f"nodes={N} clients={N} seed=3 {config}"
        self.start("run", "flwr", "run", "app", "here", "--stream", "-c", config)


def wait(until: Callable[[], object], seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, until
        time.sleep(0.1)


def rounds(path: Path) -> int:
    """Return the number of rounds in a file, which is whole or not there."""
    return load_run(path).round if path.exists() else 0


@pytest.fixture(scope="module")
def fed():
    return digits("iid", clients=10)[[*range(N)]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, fed):
    began = time.monotonic()
    fleet = Fleet(tmp_path_factory.mktemp("fleet"), fed)
    try:
        fleet.certificates()
        fleet.superlink()
        for i in range(N):
            fleet.run("flwr", "supernode", "register", f"n{i}.pub", "here")
            fleet.node(i)
        fleet.seconds = max(30.0, 3 * (time.monotonic() - began))
        yield fleet
    finally:
        for name in [*fleet.running]:
            fleet.signal(name, signal.SIGKILL)


def replayed(run: Run, fed: Federation, history: list[list[int]]) -> Run:
    """The run, in this process, of rounds in which only these clients have answered."""
    for counted in history:
        work = draw_work(run, fed.sizes, N)
        at = [work.client.tolist().index(i) for i in counted]
        work = work.keep(at)
        sums = Sums([run], [work], fed.sizes)
        train_clients([run], [work], MODEL, fed.train, fed.val, sums.part, sums.add)
        run = sums.finish()[0]
    return run


def assert_is_replayed(got: Run, fed: Federation) -> None:
    run = start(MODEL, fed, FedEx(LocalHP(lr=[0.01, 0.1, 1.0], batch=8)), seed=3)
    expected = replayed(run, fed, [r.client.tolist() for r in got.history])
    torch.testing.assert_close(got.w, expected.w, rtol=1e-5, atol=2e-6)
    assert got.tuner.theta.tolist() == pytest.approx(expected.tuner.theta.tolist(), abs=1e-6)


def test_a_run_leaves_out_a_lie_and_has_the_numbers_of_one_process(fleet, fed):
    path = fleet.folder / "lie.pt"
    fleet.begin_run(f"rounds=2 lies=true path='{path}'")
    wait(lambda: fleet.reached(path, 2))
    wait(lambda: fleet.ended("run"))
    lie = r"round 2: without node \d+, client 1: length of arrays - w is .*; allowed: 1000.0"
    assert re.search(lie, fleet.log("run"))
    run = load_run(path)
    assert [sorted(r.client.tolist()) for r in run.history] == [[0, 1], [0]]
    assert_is_replayed(run, fed)


@pytest.mark.nightly
def test_a_run_survives_a_stopped_node_a_killed_superlink_and_a_killed_node(fleet, fed):
    path = fleet.folder / "run.pt"
    config = f"path='{path}' round-seconds={fleet.seconds}"
    fleet.begin_run(f"rounds=1 {config}")
    wait(lambda: "round 0, best" in fleet.log("run"))
    fleet.signal("node 1", signal.SIGSTOP)
    wait(lambda: fleet.reached(path, 1))
    fleet.signal("superlink", signal.SIGKILL)
    fleet.signal("run", signal.SIGKILL)
    fleet.signal("node 1", signal.SIGCONT)

    fleet.keep(f"rounds=2 {config}")
    wait(lambda: "round 1, best" in fleet.log("run"))
    assert "resumes after round 1" in fleet.log("run")
    fleet.signal("node 1", signal.SIGKILL)
    wait(lambda: fleet.reached(path, 2))
    wait(lambda: fleet.ended("run"))

    fleet.keep(f"rounds=3 path='{path}'")
    wait(lambda: fleet.reached(path, 3) or fleet.keep_nodes())
    run = load_run(path)
    assert [sorted(r.client.tolist()) for r in run.history] == [[0], [0], [0, 1]]
    assert_is_replayed(run, fed)


@pytest.mark.nightly
def test_five_kills_at_random_moments_leave_the_numbers_of_one_process(fleet, fed):
    path, seed = fleet.folder / "random.pt", time.time_ns()
    draw = random.Random(seed)
    print(f"seed {seed}")  # what pytest shows of a failure
    config = f"rounds=8 path='{path}' round-seconds={SECONDS}"
    fleet.begin_run(config)
    for played in range(1, 6):
        wait(lambda played=played: rounds(path) >= played or fleet.keep(config))
        time.sleep(10 * draw.random())
        victim = draw.choice(["superlink", *(f"node {i}" for i in range(N))])
        fleet.signal(victim, signal.SIGKILL)
        fleet.keep(config)
    wait(lambda: rounds(path) == 8 or fleet.keep(config), 900)
    assert_is_replayed(load_run(path), fed)
