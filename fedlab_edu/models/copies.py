"""B copies of a PyTorch network, each with its own weights, in one call.

A network runs through ``vmap``, if that gives what plain PyTorch gives; else one client at a time.
This is tried out on the first two examples that come.
"""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from fedlab_edu.models.layers import Drop, dropout
from fedlab_edu.models.lookup import Lookups
from fedlab_edu.models.model import ONE_AT_A_TIME
from fedlab_edu.validate import require

# In evaluation these take a shortcut that cannot be differentiated and, without dropout, gives the
# same.
_SHORTCUTS = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)


class Copies:
    """The network that ``make`` builds, with a leading client axis: the ``forward`` of a model."""

    def __init__(self, make: Callable[[], nn.Module]) -> None:
        with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
            self.net = make()
        self.make, self._ways = make, dict[object, _Way]()
        self._local = threading.local()  # a call replaces the network's weights: one copy a thread

    def __reduce__(self) -> Any:
        return type(self), (self.make,)

    def __call__(self, p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        skeletons: dict[Any, _Skeleton] = vars(self._local)
        kind = p[0].device, p[0].dtype
        number = 2 if (kind, 2) in self._ways else min(2, x.shape[0] * x.shape[1])
        if (kind, number) not in self._ways:
            with ONE_AT_A_TIME:
                if (kind, number) not in self._ways:
                    self._ways[kind, number] = _find_way(self.net, *kind, x)
        if kind not in skeletons:  # one copy a kind: converting to float32 and back loses digits
            skeletons[kind] = _Skeleton(self.net, *kind)
        return self._ways[kind, number](skeletons[kind], p, x, drop)


class _Skeleton:
    """A copy of a network that is called with given weights and dropout."""

    def __init__(self, net: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self.net = _copy(net, device, dtype)
        trained = {name: p for name, p in self.net.named_parameters() if p.requires_grad}
        self.trained = list(trained)
        for p in trained.values():  # where a pass reads them instead of given ones, it shows
            p.detach().fill_(torch.nan)
        self.drop: Drop | None = None
        self.place = 0
        for part in self.net.modules():
            if isinstance(part, nn.Dropout):
                part.register_forward_hook(self._dropped)

    def __call__(self, p: Sequence[Tensor], x: Tensor, drop: Drop | None) -> Tensor:
        self.drop, self.place = drop, 0
        return functional_call(self.net, dict(zip(self.trained, p, strict=True)), (x,))

    def _dropped(self, part: nn.Module, x: tuple[Tensor], same: Tensor) -> Tensor:
        self.place += 1
        return dropout(same, self.drop, self.place - 1)


class _Way(NamedTuple):
    """A way to run B copies of a network."""

    batched: bool
    lookups: bool = True  # whether the network looks up embeddings, as far as is known

    def __call__(self, net: _Skeleton, p: Sequence[Tensor], x: Tensor, drop: Drop | None) -> Tensor:
        with Lookups(self.batched) if self.lookups else nullcontext():
            if self.batched:
                return vmap(net, (0, 0, None if drop is None else 0))(tuple(p), x, drop)
            drops = [None] * len(x) if drop is None else map(Drop, *drop)
            return torch.stack(
                [net(*one) for one in zip(zip(*p, strict=True), x, drops, strict=True)]
            )


def _copy(net: nn.Module, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """Return a copy, with buffers and frozen weights, in which attention takes no shortcut."""
    net = deepcopy(net).to(device, dtype)
    for part in net.modules():
        if isinstance(part, _SHORTCUTS):
            part.training = True
    return net


@torch.inference_mode(False)
@torch.enable_grad()
def _find_way(net: nn.Module, device: torch.device, dtype: torch.dtype, x: Tensor) -> _Way:
    """Return the first way that gives what the plain network gives, with its gradients.

    It is tried on the first and the last example of x, for the network and one with weights nearby.
    """
    if not x.shape[0] * x.shape[1]:
        return _Way(batched=True)
    dtype = torch.promote_types(dtype, torch.float32)
    x = x.flatten(0, 1)[[0, -1]]
    x = x.to(dtype, copy=True) if x.is_floating_point() else x.clone()
    plain = _copy(net, device, dtype)
    p = [p for p in plain.parameters() if p.requires_grad]
    W = [torch.stack([t, 1.01 * t + 0.001]).detach().requires_grad_() for t in p]
    expected = []
    with Lookups(batched=False) as lookups:
        _check_forward(plain, x)
        shared = _leaves(plain(x)) & _leaves(_copy(net, device, dtype)(x))
        allowed = "layers of net, which a copy has, too (a lambda keeps those that it holds), and "
        allowed += "others after .requires_grad_(False)"
        require(not shared, "net", type(net).__name__, allowed)
        for i in range(2):
            nn.utils.vector_to_parameters(torch.cat([w[i].flatten() for w in W]), p)
            expected.append(_with_gradients(plain(x), p))
    for way in (_Way(True, lookups.used), _Way(False, lookups.used)):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="There is a performance drop")
                outputs = way(_Skeleton(net, device, dtype), W, torch.stack([x, x]), None)
                found = _with_gradients(outputs, W)
        except Exception as error:  # whatever PyTorch raises where it has no rule
            looks = "data-dependent" in str(error) or ".item()" in str(error)
            allowed = "a forward pass without `if` or .item() on the values of a minibatch"
            require(not looks, "net", type(net).__name__, allowed)
            continue
        if all(_close([t[i] for t in found], expected[i]) for i in range(2)):
            return way
    allowed = "a network that torch.func.functional_call can call with other weights, and without "
    allowed += "torch.utils.checkpoint"
    raise ValueError(f"net is {type(net).__name__!r}; allowed: {allowed}")


def _check_forward(net: nn.Module, x: Tensor) -> None:
    """Refuse a forward pass that clients cannot share, as seen on two examples."""
    name, cuda = type(net).__name__, [x.device] if x.device.type == "cuda" else []
    before = [(n, t, t._version) for n, t in _tensors(net)]
    with torch.random.fork_rng(devices=cuda):
        drawn, version = _generators(x.device), x._version
        outputs = net(x)
        same = torch.equal(drawn, _generators(x.device))
    require(x._version == version, "inputs of net", "changed", "the same after a forward pass")
    allowed = "a forward pass without random numbers; nn.Dropout(0.0) drops with c.dropout"
    require(same, "net", name, allowed)
    now = dict(_tensors(net))
    for n, t, version in before:
        allowed = "the same after a forward pass; running statistics belong to no client"
        require(now.get(n) is t and t._version == version, f"net.{n}", "changed", allowed)
    ok = isinstance(outputs, Tensor) and outputs.is_floating_point()
    kind = str(outputs.dtype) if isinstance(outputs, Tensor) else type(outputs).__name__
    require(ok, "outputs of net", kind, "one tensor of real numbers")
    allowed = "differentiable with respect to trained parameters"
    require(outputs.requires_grad, "outputs of net", "constant", allowed)
    alone = outputs.dim() > 0 and len(outputs) == len(x)
    try:
        alone = alone and _close([outputs], [torch.cat([net(one[None]) for one in x])])
    except Exception:  # whatever the network raises where it gets one example
        alone = False
    allowed = "a network that treats each example by itself; nn.LSTM and its like: batch_first=True"
    require(alone, "net", name, allowed)


def _leaves(outputs: Tensor) -> set[nn.Parameter]:
    """Return the parameters that the outputs depend on."""
    nodes, seen, found = [outputs.grad_fn], set[Any](), set[nn.Parameter]()
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            nodes += [other for other, _ in node.next_functions]
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, nn.Parameter):
                found.add(leaf)
    return found


def _tensors(net: nn.Module) -> Iterator[tuple[str, Tensor]]:
    return chain(net.named_parameters(), net.named_buffers())


def _generators(device: torch.device) -> Tensor:
    """Return the state of the generators that a forward pass may draw from."""
    cuda = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return torch.cat([torch.get_rng_state(), *cuda])


def _with_gradients(outputs: Tensor, p: Sequence[Tensor]) -> list[Tensor]:
    loss = (outputs**2 + outputs).sum()
    found = torch.autograd.grad(loss, p, allow_unused=True, materialize_grads=True)
    return [outputs.detach(), *found]


@torch.no_grad()
def _close(found: list[Tensor], expected: list[Tensor]) -> bool:
    """Return whether outputs, and gradients if any, are equal up to rounding.

    A gradient may differ by more, as rounding takes a ReLU over its kink; it need not be small
    beside itself, if it is beside all of them.
    """
    if [t.shape for t in found] != [t.shape for t in expected]:
        return False
    eps = torch.finfo(expected[0].dtype).eps
    noise = 100 * eps * sum(float(b.nan_to_num().norm()) for b in expected)
    for a, b, power in zip(found, expected, (0.5, *[0.3] * (len(found) - 1)), strict=True):
        a, b = a.nan_to_num(), b.nan_to_num()
        if (a - b).norm() > eps**power * b.norm() + noise:
            return False
    return True
