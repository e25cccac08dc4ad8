"""The wire between the grader and a student's process: what passes, what does not, and a fuzz."""

import functools
import gc
import json
import math
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedlab_grade import callables, wire
from fedlab_grade.answer import Failure, Raised
from fedlab_grade.options import Limits
from fedlab_grade.sandbox.processes import Worker
from fedlab_grade.sandbox.remote import Remote, Stopped
from fedlab_grade.student import NotGradable, Student
from fedlab_grade.values import Values

pytestmark = [pytest.mark.processes, pytest.mark.grader]


def split(message: bytes) -> tuple[bytes, bytes]:
    body, blob = wire.HEAD.unpack(message[: wire.HEAD.size])
    assert len(message) == wire.HEAD.size + body + blob
    return message[wire.HEAD.size :][:body], message[wire.HEAD.size + body :]


def decode(body: bytes, blob: bytes, *function: Callable[[int], object]) -> Any:
    return wire.unpack(wire.HEAD.pack(len(body), len(blob)) + body + blob, *function)


def sent(value: object) -> Any:
    return wire.unpack(wire.encode(value))


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same([*a.items()], [*b.items()])
    return a == b or (a != a and b != b)


@pytest.mark.parametrize(
    "value",
    [
        [None, True, 1, -7, 10**3999, 0.1, 1e-320, math.inf, -math.inf, math.nan, "", "é\ud800\0"],
        {"a": (1, [2.0]), 3: {}, (1, "b"): [[]], 2.5: None, True: False},
        [torch.tensor(3.0), torch.zeros(0, 4), torch.arange(6).view(2, 3).T, torch.ones(2) > 0],
        [torch.ones(2, dtype=kind) for kind in (torch.bfloat16, torch.float16, torch.uint8)],
        [np.arange(6.0).reshape(2, 3).T[::-1], np.zeros(()), np.array([True]), np.zeros((0, 2))],
        [np.float64(0.1), np.int8(-3), np.bool_(True), np.float32(math.inf)],
        [np.arange(3)[:0], np.arange(3.0)[::-1][1:2]],  # the strides of few entries may be any
        [torch.eye(3)[:1, 1], torch.arange(4)[::2][1:]],
    ],
)
def test_plain_values_arrive_as_they_are(value):
    assert same(sent(value), value)


def test_a_tensor_arrives_without_its_graph_and_shares_no_memory():
    w = torch.ones(3, requires_grad=True)
    arrived = sent([w, w])
    assert not arrived[0].requires_grad
    arrived[0][0] = 7
    assert w.tolist() == arrived[1].tolist() == [1, 1, 1]


def test_a_big_endian_array_arrives_with_its_numbers():
    assert sent(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (OrderedDict([("b", 1), ("a", 2)]), {"b": 1, "a": 2}),
        (defaultdict(list, {"a": [1]}), {"a": [1]}),
        (torch.ones(2, 3).shape, (2, 3)),
        (range(3, 9, 2), [3, 5, 7]),
    ],
)
def test_a_type_of_the_libraries_arrives_as_what_it_is_a_kind_of(value, arrives):
    assert same(sent(value), arrives)
    assert list(sent([value])[0]) == list(arrives)


def test_an_int_is_sent_about_as_fast_as_a_float():
    def seconds(value: list) -> float:
        taken = []
        for _ in range(7):
            began = time.process_time()
            wire.encode(value)
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds([7] * 1500) < 2 * seconds([7.0] * 1500) + 0.02


class Yes(torch.Tensor):
    pass


class Lie:
    __class__ = torch.Tensor


class Meta(type):
    __name__ = property(lambda self: 1 / 0)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (torch.ones(2).as_subclass(Yes), "Yes"),
        (Lie(), "Lie"),
        (Meta("Odd", (), {})(), "Odd"),
        (type("F", (float,), {})(1), "F"),
        (type("D", (dict,), {})(), "D"),
        (type("O", (OrderedDict,), {})(), "O"),
        (type("x\x1b<b>" * 50, (), {})(), "xb" * 12),
        ((i for i in range(3)), "generator"),
        (torch.ones(2).to_sparse(), "sparse_coo tensor"),
        (torch.ones(2, device="meta"), "meta tensor"),
        (torch.ones(2) + 0j, "complex64 tensor"),
        (np.array([None]), "object array"),
        (np.ma.masked_array([1.0]), "MaskedArray"),
        (np.datetime64("2026"), "datetime64"),
        (print, "builtin_function_or_method"),
    ],
)
def test_what_is_not_plain_arrives_as_unknown_under_its_name(value, name):
    (arrived,) = sent([value])
    assert isinstance(arrived, wire.Unknown)
    assert type(arrived).__name__ == name


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch will drop the one, and may the other
def test_quantised_and_nested_tensors_arrive_as_unknown():
    quantised = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    arrived = sent([quantised, torch.nested.nested_tensor([torch.ones(2)])])
    assert [type(one).__name__ for one in arrived] == ["quantised tensor", "nested tensor"]


def deep(levels: int) -> object:
    out: object = 0
    for _ in range(levels):
        out = [out]
    return out


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (torch.zeros(1).expand(10**9), "64 MB"),
        ([torch.zeros(1).expand(10**7)] * 2, "64 MB"),
        ("x" * (5 << 20), "4 MB"),
        ([0] * 300_000, "200,000 parts"),
        (range(10**12), "200,000 parts"),
        (-(10**4000), "4000 digits"),
        (dict.fromkeys(range(20_000)), "10,000 keys"),
        (10**4000, "4000 digits"),
        (deep(200), "deeper than 100"),
    ],
)
def test_what_is_too_large_or_too_deep_is_refused(value, why):
    with pytest.raises(wire.Refused, match=why):
        wire.encode(value)


def test_functions_are_sent_as_numbers_and_only_those_that_were_sent_come_back():
    functions = callables.Functions()
    body, blob = split(wire.encode([len, "text", max], functions.place))
    assert json.loads(body) == [{"function": 0}, "text", {"function": 1}]
    assert decode(body, blob, functions.at) == [len, "text", max]
    for number in (2, -1):
        with pytest.raises(callables.Malformed):
            decode(json.dumps([{"function": number}]).encode(), b"", functions.at)
    with pytest.raises(callables.Malformed):
        decode(body, blob)


def test_what_is_sent_may_be_as_deep_as_what_is_read():
    for wrap in (lambda x: [x], lambda x: (x,), lambda x: {"a": x}):
        value = functools.reduce(lambda x, _: wrap(x), range(wire.MAX_DEPTH), 0)
        assert wire.unpack(wire.encode(value)) == value
        with pytest.raises(wire.Refused):
            wire.encode(wrap(value))
    with pytest.raises(callables.Malformed):
        decode(b"[" * (wire.MAX_DEPTH + 1) + b"0" + b"]" * (wire.MAX_DEPTH + 1), b"")


ONE = bytes(12)  # of ["float32", [3]]
MALFORMED = {
    "no JSON": (b"\xff{", b""),
    "deep": (b"[" * 10**5 + b"]" * 10**5, b""),
    "long int": (b"9" * 10**5, b""),
    "list as a key": (b'{"dict": [[[], 1]]}', b""),
    "no pairs": (b'{"dict": [[1, 2, 3]]}', b""),
    "one hash": (json.dumps({"dict": [[i * (2**61 - 1), 0] for i in range(20_000)]}).encode(), b""),
    "two words": (b'{"tuple": [], "dict": []}', b""),
    "no word": (b"{}", b""),
    "word of none": (b'{"pickle": "x"}', b""),
    "no such dtype": (b'{"tensor": ["complex64", [3]]}', ONE),
    "tensor of a name": (b'{"tensor": "0"}', ONE),
    "tensor of a list": (b'{"tensor": []}', ONE),
    "shape of a text": (b'{"tensor": ["float32", "3"]}', ONE),
    "shape of floats": (b'{"tensor": ["float32", [3.0]]}', ONE),
    "shape of bools": (b'{"tensor": ["float32", [true, 3]]}', ONE),
    "negative shape": (b'{"tensor": ["float32", [-1, -3]]}', ONE),
    "many axes": (b'{"tensor": ["float32", [3' + b",1" * 64 + b"]]}", ONE),
    "long shape": (b'{"tensor": ["float32", [' + b"9" * 4000 + b"]]}", ONE),
    "empty and long": (b'{"tensor": ["float32", [0, ' + b"9" * 4000 + b"]]}", b""),
    "tensor taken twice": (b'[{"tensor": ["float32", [3]]}, {"tensor": ["float32", [3]]}]', ONE),
    "scalar without entries": (b'{"scalar": ["float32", [0]]}', b""),
    "unknown of a number": (b'{"unknown": 3}', b""),
    "true function": (b'{"function": true}', b""),
    "blob of zeros": (b"1", bytes(100)),
    "lying shape": (b'{"tensor": ["float32", [100000, 100000]]}', ONE),
    "cut blob": (b'{"tensor": ["float32", [3]]}', ONE[:-1]),
    "long blob": (b'{"tensor": ["float32", [3]]}', ONE + b"0"),
    "array of half floats": (b'{"array": ["bfloat16", [2]]}', bytes(4)),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_message_is_called_that_at_once(name):
    began = time.process_time()
    with pytest.raises(callables.Malformed):
        decode(*MALFORMED[name])
    assert time.process_time() - began < 2


@pytest.mark.parametrize("head", [(2**32 - 1, 0), (0, 2**32 - 1), (wire.MAX_JSON + 1, 0)])
def test_a_length_beyond_the_limit_is_refused_before_anything_is_read(head):
    with pytest.raises(callables.Malformed):
        wire.unpack(struct.pack(">II", *head))


def test_text_for_reports_has_no_control_characters_and_an_end():
    assert callables.clean("a\ud800b\x1b[31m\n\u202ec", 50) == "a?b�[31m\n�c"
    assert callables.clean("x" * 100, 10) == "x" * 10 + "..."


# --- the fuzz -------------------------------------------------------------------------------------


def test_what_a_function_of_the_test_asserts_ends_the_test_and_is_not_sent():
    def objective(*_: object, **named: object) -> None:
        raise AssertionError("expected 0.25")

    remote = answers(wire.encode(GOOD[2]))
    _, student = OPEN[-1]
    with pytest.raises(AssertionError, match=r"^expected 0\.25$"):
        remote.run("f", [objective], {}, None)
    student.setblocking(False)
    received = b""
    while piece := student.recv(1 << 16):  # up to the end of the line, which was cut
        received += piece
    assert b'"name", "f"' in received
    assert b"0.25" not in received
    with pytest.raises(Stopped, match="the test had ended before"):
        remote.run("f", [], {}, None)
    while OPEN:
        worker, end = OPEN.pop()
        worker.let_go()
        end.close()


def test_a_function_that_was_given_is_no_answer_but_stays_among_the_arguments():
    text = "def f(g, x):\n    return g(x)\ndef h(g):\n    return [g]\n"
    student = Values(Student(Path("hw.py"), text))

    def double(x: list[int]) -> list[int]:
        return x * 2

    assert student.call("f", double, [1], echo=True) == ([1, 1], [double, [1]])
    with pytest.raises(Failure, match="h returned a list with a function in it"):
        student.call("h", double)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"9" * (wire.MAX_DIGITS + 1), "an int of more than 4000 digits"),
        (b"[" * 300 + b"]" * 300, "deeper than 100"),
        (b'{"tuple": [' * 300 + b"]}" * 300, "deeper than 100"),
        (b'{"dict": [[1, ' * 300 + b"0" + b"]]}" * 300, "deeper than 100"),
    ],
)
def test_an_answer_that_only_a_dishonest_worker_sends_fails_and_is_no_error_of_the_test(value, why):
    reply = wire.encode({"kind": "value", "value": 1234, "names": [], "after": []})
    body = split(reply)[0].replace(b"1234", value)
    with pytest.raises(Failure, match=why):
        Values(answers(wire.HEAD.pack(len(body), 0) + body)).call("f")
    worker, end = OPEN.pop()
    worker.let_go()
    end.close()


def answers(frames: bytes) -> Remote:
    """A file whose worker says that it is loaded, then these bytes, and ends."""
    line, other = socket.socketpair()
    leash, far_leash = socket.socketpair()
    output, far_output = os.pipe()
    os.close(far_output)
    far_leash.close()
    other.setblocking(False)
    other.sendall(wire.encode({"kind": "loaded"}) + frames)
    other.shutdown(socket.SHUT_WR)
    worker = Worker(line, output, leash)
    try:
        remote = Remote("hw.py", "", worker, Limits(call=5.0, asked=20), time.monotonic() + 60)
    finally:
        OPEN.append((worker, other))
    return remote


OPEN: list[tuple[Worker, socket.socket]] = []

WORDS = st.sampled_from(
    ["kind", "value", "names", "changed", "after", "failed", "status", "message", "likely", "kinds",
     "ask", "function", "arguments", "named", "loaded", "tuple", "dict",
     "tensor", "array", "scalar", "unknown", "float32", "bool", "raised", "not gradable"]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5)
PARTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
GOOD = [
    {"kind": "value", "value": {"w": torch.ones(2), "n": [1, 2.5]}, "names": ["x"],
     "after": [np.ones(3)]},
    {"kind": "failed", "status": "raised", "message": "m", "likely": "", "kinds": ["ValueError"]},
    {"kind": "ask", "function": 0, "arguments": [1], "named": {"y": (2,)}},
]  # fmt: skip
VALID = [wire.encode(reply) for reply in GOOD]


def framed(part: object) -> bytes:
    body = json.dumps(part).encode()
    blob = ONE if "float32" in json.dumps(part) else b""
    return wire.HEAD.pack(len(body), len(blob)) + body + blob


def replaced(frame: bytes, places: list[tuple[int, int]]) -> bytes:
    out = bytearray(frame)
    for place, byte in places:
        out[place % len(out)] = byte
    return bytes(out)


BYTES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 255)), min_size=1, max_size=6)
HOSTILE = st.one_of(
    st.binary(max_size=60),
    st.builds(framed, PARTS),
    st.builds(lambda base, key, part: wire.encode(base | {key: part}),
              st.sampled_from(GOOD), WORDS, LEAVES | st.lists(LEAVES, max_size=3)),
    st.builds(replaced, st.sampled_from(VALID), BYTES),
)  # fmt: skip


def fuzz(examples: int) -> None:
    @settings(
        max_examples=examples, deadline=None, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(st.lists(HOSTILE, min_size=1, max_size=2))
    def run(frames: list[bytes]) -> None:
        survive(b"".join(frames))

    run()


def survive(frames: bytes) -> None:
    remote = answers(frames)
    try:
        remote.run("f", [np.zeros(3)], {"function": abs}, None)
    except Failure:
        pass
    finally:
        while OPEN:
            worker, other = OPEN.pop()
            worker.let_go()
            other.close()


def random_frame(rng: random.Random) -> bytes:
    """A valid frame with some bytes, or one of its parts, replaced; or random bytes."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.randrange(60))
    if kind < 0.6:
        frame = bytearray(rng.choice(VALID))
        for _ in range(rng.randrange(1, 7)):
            # A wrong length only makes the reader wait for the end: not in all frames.
            first = 0 if rng.random() < 0.2 else wire.HEAD.size
            frame[rng.randrange(first, len(frame))] = rng.randrange(256)
        return bytes(frame)
    odd = [None, True, -1, 10**30, 1e999, "x", [], [[]], {}, {"tensor": "0"}, {"unknown": "x"},
           {"dict": [[1, 2]]}, {"tuple": [1]}, {"function": 0}, {"scalar": "0"}]  # fmt: skip
    reply = {"dict": [[key, rng.choice(odd)] for key in rng.choice(GOOD)]}
    reply["dict"][0][1] = rng.choice(["value", "failed", "ask"])
    return framed(reply)


@pytest.mark.parametrize(
    ("frames", "examples"),
    [(3000, 300), pytest.param(10_000, 10_000, marks=pytest.mark.nightly)],
)
def test_no_hostile_frame_ends_hangs_or_fills_the_grader(frames, examples):
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = random.Random(0)
    for _ in range(frames):
        survive(b"".join(random_frame(rng) for _ in range(rng.randrange(1, 4))))
    fuzz(examples)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000 * (1024 if sys.platform == "darwin" else 1)


def listed(parts: Iterable[str]) -> str:
    return f"[{','.join(parts)}]"


def many(part: str) -> bytes:
    """Return a list of one part that fills a message."""
    return listed([part] * (wire.MAX_JSON // (len(part) + 1) - 1)).encode()


TENSORS = many('{"tensor":["bool",[1]]}')
LARGEST = {
    "lists": (many("[]"), b""),
    "tuples": (many('{"tuple":[]}'), b""),
    "dicts": (many('{"dict":[]}'), b""),
    "one unknown kind": (many('{"unknown":"x"}'), b""),
    "unknown kinds": (listed(f'{{"unknown":"{i:x}"}}' for i in range(190_000)).encode(), b""),
    "long unknown kinds": (many('{"unknown":"%s"}' % ("x" * 200)), b""),
    "long numbers": (many("9" * wire.MAX_DIGITS), b""),
    "strings": (many(r'"\u0101"'), b""),
    "brackets": (b"[" * wire.MAX_JSON, b""),
    "keys of one hash": (
        b'{"dict":%s}' % listed(f"[{i * (2**61 - 1)},1]" for i in range(9_999)).encode(), b""
    ),
    "tensors": (TENSORS, bytes(TENSORS.count(b"bool"))),
    "empty tensors": (many('{"array":["bool",[0]]}'), b""),
    "one large tensor": (b'{"array":["bool",[60000000]]}', bytes(60_000_000)),
}  # fmt: skip
DECODE = """
import json, os, re, resource, sys, time
from fedlab_grade import callables, wire
def decode(body, blob):
    parts = iter((wire.HEAD.pack(len(body), len(blob)), body, blob))
    return wire.receive(lambda size: next(parts))
decode(b'{"tensor":["float32",[3]]}', bytes.fromhex(sys.argv[1]))
def peak():  # in kilobytes; what Linux tells by resource may be the parent's
    if sys.platform == "linux":
        return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def read(size):
    out = bytearray()
    while len(out) < size:
        out += os.read(0, min(1 << 16, size - len(out)))
    return bytes(out)
for sizes in json.loads(sys.argv[2]):
    if os.fork() == 0:  # each message in a process of its own
        body, blob = map(read, sizes)
        before, began = peak(), time.process_time()
        try:
            decode(body, blob)
        except callables.Malformed:
            pass
        print(json.dumps([peak() - before, time.process_time() - began]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def taken():
    """Name of a message -> the kilobytes and seconds that it takes to read it."""
    sizes = [[len(body), len(blob)] for body, blob in LARGEST.values()]
    command = [sys.executable, "-c", DECODE, ONE.hex(), json.dumps(sizes)]
    data = b"".join(body + blob for body, blob in LARGEST.values())
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    return dict(zip(LARGEST, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_message_of_each_kind_is_read_in_bounded_time_and_memory(name, taken):
    body, blob = LARGEST[name]
    assert (len(body) <= wire.MAX_JSON, len(blob) <= wire.MAX_MESSAGE) == (True, True)
    kilobytes, seconds = taken[name]
    assert kilobytes < 250_000
    assert seconds < 30  # of the processor, a slow and busy one


def test_whether_arguments_are_as_they_were_is_found_out_here_and_not_told_by_the_other_side():
    for before, changed in ((np.zeros(3), ("x",)), (np.ones(3), ()), (np.ones(3, "f4"), ("x",))):
        answer = answers(VALID[0]).call("f", before)
        assert answer.changed == changed
        while OPEN:
            worker, end = OPEN.pop()
            worker.let_go()
            end.close()


def test_the_valid_frames_that_the_fuzz_begins_with_are_valid():
    value, names, after = answers(VALID[0]).run("f", [1], {}, None)
    assert same(value, {"w": torch.ones(2), "n": [1, 2.5]})
    assert (names, same(after, [np.ones(3)])) == (["x"], True)
    for frame, error, text in (
        (VALID[1], Raised, "^m$"),
        (VALID[2] * 30, Stopped, "more than 20 times"),
        (VALID[2], Stopped, "ended its process"),
    ):
        with pytest.raises(error, match=text) as caught:
            answers(frame).run("f", [1], {"y": abs}, None)
        assert getattr(caught.value, "kinds", ["ValueError"]) == ["ValueError"]
    other, line = socket.socketpair()
    leash, _far = socket.socketpair()
    other.sendall(VALID[0])
    reading, writing = os.pipe()
    with pytest.raises(NotGradable, match="no sensible answer"):
        Remote("hw.py", "", Worker(line, reading, leash), Limits(), time.monotonic() + 9)
    for place in (other, leash, line, _far):
        place.close()
    os.close(reading)
    os.close(writing)
    while OPEN:
        worker, end = OPEN.pop()
        worker.let_go()
        end.close()


def test_output_that_a_worker_takes_back_is_not_waited_for(monkeypatch):
    answers(b"")
    ((worker, end),) = OPEN
    output, mine = os.pipe()  # open at both ends, and empty
    other = Worker(worker.line, output, worker.leash)
    monkeypatch.setattr("select.select", lambda files, *_: (list(files), [], []))
    other.listen()
    assert other.printed == b""
    for place in (output, mine):
        os.close(place)
    worker.let_go()
    end.close()
    OPEN.clear()
