"""Fingerprints: what decides the numbers of a run, in 32 bytes that are the same in any process."""

import copyreg
import dis
import sys
import sysconfig
import types
import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from inspect import unwrap
from pathlib import Path
from threading import Lock, RLock, local
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_EMPTY = (type(Lock()), type(RLock()), local, weakref.ref)  # hold nothing that is computed with
_C_MEMBERS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_OF_PYTHON = ("_abc_impl", "__annotate__", "__annotate_func__")
_METHODS = (types.FunctionType, property, staticmethod, classmethod)
_PATHS = sysconfig.get_paths()
_PACKAGES = [Path(_PATHS[kind]) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_LIBRARIES = tuple(str(path.resolve()) for path in (*_PACKAGES, Path(__file__).parents[1]))


class Reader:
    """The digests of values, each read once; a cycle counts as its length."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[object, bytes]] = {}  # holds the values: their ids stay theirs
        self.open: list[int] = []

    def digest(self, value: object) -> bytes:
        """Return the SHA-256 of all that a value holds and its functions compute with.

        Containers and objects count with their types and contents, arrays with every number,
        functions and classes with their code, defaults, closures and the globals that they read.
        Those of installed packages count by name and closure. It cannot see what a function reads
        from files or the environment, or imports inside.

        Raises:
            TypeError: a value that pickle cannot take apart, such as an open file or a generator.
        """
        if isinstance(value, types.FunctionType):
            value = unwrap(value, stop=lambda f: "jaxtyping" not in f.__code__.co_filename)
        key = id(value)
        if key in self.known:
            return self.known[key][1]
        if key in self.open:
            return b"%d" % (len(self.open) - self.open.index(key))
        self.open.append(key)
        total = sha256()
        for part in self._parts(value):
            total.update(part)
        self.open.pop()
        self.known[key] = value, total.digest()
        return total.digest()

    def _parts(self, value: Any) -> Iterator[Any]:
        """Yield the type of a value, and then its contents, as bytes."""
        yield b"class" if isinstance(value, type) else self.digest(type(value))
        if isinstance(value, _PLAIN):
            yield repr(value).encode("utf-8", "surrogatepass")
        elif isinstance(value, Tensor):
            yield from self._tensor(value)
        elif isinstance(value, np.ndarray):
            yield f"{value.dtype}{value.shape}".encode()
            plain = not value.dtype.hasobject
            yield np.ascontiguousarray(value).tobytes() if plain else self.digest(value.tolist())
        elif isinstance(value, list | tuple):
            yield from map(self.digest, value)
        elif isinstance(value, set | frozenset):  # their order differs between processes
            yield from sorted(map(self.digest, value))
        elif isinstance(value, Mapping):
            for pair in value.items():
                yield from map(self.digest, pair)
        elif isinstance(value, types.ModuleType):
            yield value.__name__.encode()
        elif isinstance(value, types.CodeType):
            arguments = value.co_varnames[: value.co_argcount + value.co_kwonlyargcount]
            yield value.co_code
            yield from map(self.digest, (arguments, value.co_consts, value.co_names))
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, type):
            yield from self._class(value)
        elif not isinstance(value, _EMPTY):
            yield from self._object(value)

    def _tensor(self, value: Tensor) -> Iterator[Any]:
        yield f"{value.dtype}{tuple(value.shape)}".encode()
        if isinstance(value, nn.Parameter):  # a frozen one is no part of w
            yield repr(value.requires_grad).encode()
        value = value.detach()
        if value.is_meta:
            raise TypeError("a tensor without data")
        if value.layout is not torch.strided:
            value = value.to_sparse_coo().coalesce()
            yield from map(self.digest, (value.indices(), value.values()))
            return
        flat = value.cpu().resolve_conj().resolve_neg().reshape(-1)
        flat = flat.clone(memory_format=torch.contiguous_format)
        yield flat.view(torch.uint8).numpy().data

    def _function(self, value: types.FunctionType) -> Iterator[bytes]:
        code = value.__code__
        yield f"{value.__qualname__};".encode()
        if _is_library(value.__module__) and "<locals>" not in value.__qualname__:
            yield value.__module__.encode()
            return
        yield f"{code.co_qualname};".encode()
        cells = [c.cell_contents for c in value.__closure__ or () if c != types.CellType()]
        own = {name: x for name, x in vars(value).items() if name != "__wrapped__"}
        yield from map(self.digest, (value.__defaults__, value.__kwdefaults__, cells, own))
        if not _is_installed(code.co_filename):
            yield self.digest(code)
            for name, found in sorted(_read(code, value.__globals__).items()):
                yield name.encode()
                yield self.digest(found)

    def _class(self, value: type) -> Iterator[bytes]:
        yield f"{value.__qualname__};".encode()
        if _is_library(value.__module__):
            yield value.__module__.encode()
            return
        yield from map(self.digest, value.__bases__)
        for name, member in sorted(vars(value).items()):
            magic = name.startswith("__") and not isinstance(member, _METHODS)
            if not (magic or name in _OF_PYTHON or isinstance(member, _C_MEMBERS)):
                yield name.encode()
                yield self.digest(member)

    def _object(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, property):
            yield from map(self.digest, (value.fget, value.fset))
        elif isinstance(value, types.MethodType):
            yield from map(self.digest, (value.__func__, value.__self__))
        elif isinstance(value, cached_property):
            yield self.digest(value.func)
        elif hasattr(value, "__wrapped__"):  # a static method, or functools.cache
            yield self.digest(value.__wrapped__)
        elif isinstance(value, nn.Module):
            yield self.digest(_module_state(value))
        else:
            yield from map(self.digest, _reduced(value))


def _is_installed(file: str) -> bool:
    """Return whether a file belongs to Python, to an installed package, or to this package."""
    return file.startswith((*_LIBRARIES, "<frozen")) or "dist-packages" in file


def _is_library(name: str | None) -> bool:
    """Return whether a module is installed or built in."""
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None)
    return _is_installed(file) if file else module is not None and name != "__main__"


def _read(code: types.CodeType, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the globals that code reads by name, of modules of one's own the attributes read."""
    found: dict[str, Any] = {}
    words = [*dis.get_instructions(code)]
    for place, word in enumerate(words):
        if word.opname in ("LOAD_GLOBAL", "LOAD_NAME") and word.argval in names:
            name, value = word.argval, names[word.argval]
            for more in words[place + 1 :]:
                own = isinstance(value, types.ModuleType) and not _is_library(value.__name__)
                if not (own and more.opname in ("LOAD_ATTR", "LOAD_METHOD")):
                    break
                name, value = f"{name}.{more.argval}", getattr(value, more.argval, None)
            found[name] = value
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _read(inner, names)
    return found


def _module_state(net: nn.Module) -> dict[str, object]:
    """Return the attributes of a network, parts and tensors among them, by name.

    Hooks are numbered through by PyTorch, in the order in which a process makes them.
    """
    held = object.__getstate__(net)
    assert isinstance(held, dict)
    hooks = {name: [*x.values()] for name, x in held.items() if "hooks" in name and x}
    return dict(sorted((held | hooks).items()))


def _reduced(value: Any) -> list[object]:
    """Return what makes up an object, as pickle takes it apart, without cached properties."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        parts = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception as error:  # a foreign class may raise anything
        raise TypeError(type(value).__qualname__) from error
    if isinstance(parts, str):
        return [value.__module__, parts]
    own = getattr(type(value), "__getstate__", None) is not object.__getstate__
    if not own and getattr(parts[0], "__name__", None) == "__newobj__":
        parts = (*parts[:2], state_of(value), *parts[3:])
    return [[*part] if isinstance(part, Iterator) else part for part in parts]


def state_of(value: object) -> dict[str, Any]:
    """Return the attributes of a value by name, without cached properties."""
    state: Any = object.__getstate__(value)
    parts = state if isinstance(state, tuple) else (state,)  # slots come second
    held = {name: one for part in parts for name, one in (part or {}).items()}
    cls = type(value)
    cached = {n for n in held if isinstance(getattr(cls, n, None), cached_property)}
    return {n: one for n, one in sorted(held.items()) if n not in cached}
