"""The user ids of submissions: no two graders have the same, and their end kills no other's."""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from fedlab_grade.options import Limits
from fedlab_grade.sandbox import processes, users
from fedlab_grade.sandbox.usage import SHARED, owned
from fedlab_grade.sandbox.users import BLOCK, TURNS, killer_of
from fedlab_grade.sandbox.view import NoSandbox

pytestmark = [pytest.mark.processes, pytest.mark.grader]
ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _own_locks(tmp_path, monkeypatch):
    """Other graders on this machine have no part in these tests: other locks, and other ids."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("only root on Linux can become another user")
    monkeypatch.setattr(users, "PLACES", (str(tmp_path),))
    monkeypatch.setattr(users, "FIRST_USER", 40_000)


@pytest.fixture
def claimed():
    """The files of locks, which are closed at the end."""
    files: list[int] = []
    yield files
    for file in files:
        os.close(file)


def test_two_graders_with_the_same_process_id_have_other_user_ids(claimed, monkeypatch):
    """In containers that share a folder of locks, process ids repeat."""
    monkeypatch.setattr(os, "getpid", lambda: 77)
    first, file = users.claim()
    claimed.append(file)
    second, file = users.claim()
    claimed.append(file)
    assert abs(first - second) >= BLOCK
    ids = [{*range(user, user + TURNS), killer_of(user)} for user in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    for user in (first, second):
        assert {killer_of(user + turn) for turn in range(TURNS)} == {user + TURNS}


def test_no_id_is_that_of_a_person_or_of_the_overflow_user():
    first = 61_440
    assert first + BLOCK * users.BLOCKS < 65_534
    assert Path(users.__file__).read_text().count("61_440") == 1


def test_the_processes_of_another_grader_live_on_when_all_of_one_are_killed(claimed):
    (mine, file), (other, another) = users.claim(), users.claim()
    claimed += [file, another]
    everyone = [mine, killer_of(mine), other, killer_of(other)]
    with ExitStack() as stack:
        left = [
            stack.enter_context(subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=u, cwd="/"))
            for u in everyone
        ]
        code = "import sys; from fedlab_grade.sandbox import users, zygote; "
        code += "users.FIRST_USER = 40_000; zygote.kill_all(int(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", code, str(mine)], cwd=ROOT, check=True)
        ended = os.pidfd_open(left[0].pid)
        assert select.select([ended], [], [], 60)[0]
        os.close(ended)
        assert [one.poll() for one in left[2:]] == [None, None]
        for one in left:
            one.kill()


def test_a_block_is_locked_until_all_that_inherited_the_lock_have_ended(claimed):
    file = users.lock(3)
    assert file is not None
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[file]):
        os.close(file)
        assert users.lock(3) is None
    file = users.lock(3)
    assert file is not None
    claimed.append(file)


def test_a_block_with_a_process_is_left_alone(claimed, monkeypatch):
    first, file = users.claim()
    os.close(file)
    block = (first - users.FIRST_USER) // BLOCK
    monkeypatch.setattr(os, "getpid", lambda: block)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=first + TURNS - 1, cwd="/"):
        other, file = users.claim()
        claimed.append(file)
    assert other != first


def test_locks_in_a_folder_of_another_user_are_refused(tmp_path):
    os.chown(next(_folders()), 1000, -1)
    with pytest.raises(OSError, match="must be a folder of root"):
        users.claim()
    with pytest.raises(NoSandbox, match="no user for submissions"):
        processes.Zygote("uid", Limits(), warm=False)


def _folders() -> Iterator[Path]:
    file = users.lock(0)
    assert file is not None
    os.close(file)
    for place in users.PLACES:
        yield from Path(place).iterdir()


def test_where_all_blocks_are_in_use_there_is_no_sandbox(claimed, monkeypatch):
    monkeypatch.setattr(users, "BLOCKS", 2)
    monkeypatch.setattr(users, "FIRST_USER", 45_000)
    for _ in range(2):
        claimed.append(users.claim()[1])
    with pytest.raises(OSError, match="all 2 blocks of user ids are in use"):
        users.claim()


KILLS = """
import os, signal, sys
from fedlab_grade.sandbox import users, zygote
users.FIRST_USER = 40_000
user, kill = int(sys.argv[1]), os.kill
once, writing = os.pipe()
os.write(writing, b"1")
os.close(writing)
os.kill = lambda *what: kill(os.getpid(), signal.SIGKILL) if os.read(once, 1) else kill(*what)
zygote.kill_all(user)
assert os.read(once, 1) == b""
zygote.kill_all(user)  # there is none any more
"""


def test_a_killer_that_another_killer_has_killed_is_replaced(claimed):
    """All of them have the same user id, and each kills all that it may."""
    user, file = users.claim()
    claimed.append(file)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=user, cwd="/") as left:
        command = [sys.executable, "-c", KILLS, str(user)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, "")
        ended = os.pidfd_open(left.pid)
        assert select.select([ended], [], [], 60)[0]
        os.close(ended)
    assert left.returncode == -signal.SIGKILL


KEEPS = """
import os
from fedlab_grade.sandbox import zygote

def keep(job, files):
    os.write(1, b"begin %d\\n" % job["uid"])
    os.read(files[0], 1)
    os.write(1, b"end %d\\n" % job["uid"])
    os._exit(0)

zygote.keep = keep
zygote.main()
"""


def test_the_next_worker_begins_when_all_of_the_last_one_is_removed():
    mine, theirs = socket.socketpair()
    command = [sys.executable, "-c", KEEPS, str(theirs.fileno())]
    how = {"stdout": subprocess.PIPE, "text": True, "pass_fds": [theirs.fileno()]}
    with subprocess.Popen(command, cwd=ROOT, **how) as process, mine:
        theirs.close()
        mine.settimeout(60)
        mine.sendall(b'{"warm": false, "way": "uid", "uid": 0}\n')
        assert mine.recv(1) == b"R"
        held = []
        for _ in range(2):
            reading, writing = os.pipe()
            held.append(writing)
            socket.send_fds(mine, [b"W"], [reading] * 3)
            os.close(reading)
        assert mine.recv(1) == b"F"
        assert not select.select([mine], [], [], 0.5)[0]
        os.close(held[0])
        assert mine.recv(1) == b"F"
        os.close(held[1])
        mine.close()
        assert process.stdout is not None
        said = process.stdout.read().splitlines()
    assert said == ["begin 0", "end 0", "begin 1", "end 1"]


def test_what_a_user_has_left_is_found_wherever_every_user_may_write():
    user, left = 39_999, []
    try:
        for place in ("/tmp", "/var/tmp", "/run/lock", "/dev/shm"):
            with suppress(OSError):  # some machines have no such folder
                file, path = tempfile.mkstemp(dir=place)
                left.append(path)
                os.fchown(file, user, user)
                os.close(file)
        assert sorted(owned({"uid": user}, SHARED)) == sorted(left)
    finally:
        for path in left:
            os.unlink(path)
