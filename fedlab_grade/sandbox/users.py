"""The user ids under which submissions run, in blocks that are locked for one grader at a time.

The end of a worker kills all processes of its user. Two graders with the same ids would kill each
other's workers.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

BLOCK = 8  # ids of one grader
TURNS = BLOCK - 1  # for workers, which take turns, because the end of the one before takes a while
FIRST_USER, BLOCKS = 61_440, 500  # ids that no system gives to a person
PLACES = ("/run", "/tmp")  # where the locks lie: in the first that can be written to


def killer_of(user: int) -> int:
    """Return the id of the block under which its other ids' processes are killed."""
    return user - (user - FIRST_USER) % BLOCK + TURNS


def claim() -> tuple[int, int]:
    """Lock a block that no grader and no process uses.

    Returns:
        The first id of the block, and the open file that holds the lock, as in `lock`.

    Raises:
        OSError: the locks cannot be written, or all blocks are in use.
    """
    used = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has just ended
            used.add((os.stat(f"/proc/{process}").st_uid - FIRST_USER) // BLOCK)
    for i in range(BLOCKS):
        block = (os.getpid() + i) % BLOCKS
        if block not in used and (file := lock(block)) is not None:
            return FIRST_USER + BLOCK * block, file
    raise OSError(f"all {BLOCKS} blocks of user ids are in use")


def lock(block: int) -> int | None:
    """Lock a block of ids.

    The block is free again once the file is closed here and in every process that inherited it.

    Returns:
        The open file that holds the lock; None if another process holds it.
    """
    import fcntl  # here, because the doctor runs where there is none

    file = os.open(_folder() / str(block), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _folder() -> Path:
    """Return the folder of the locks, which only root can enter: others could take all of them."""
    place = next((place for place in PLACES if os.access(place, os.W_OK)), PLACES[-1])
    folder = Path(place, "fedlab_edu_users")
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != 0:
        raise OSError(f"{folder} must be a folder of root")
    return folder
