"""Check that a model and data fit; an error names what does not, such as a layer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fedlab_edu.models.model import ONE_AT_A_TIME, Model, cross_entropy
from fedlab_edu.validate import require, require_type


@torch.no_grad()
def check_fit(model: Model, w: Float[Tensor, " d"], x: Tensor, y: Tensor, labels: Tensor) -> None:
    """Evaluate a model on some examples x (n, ...) with targets y (n, ...).

    Args:
        labels: all targets, of which y is a part.

    Raises:
        ValueError: inputs that the network does not take, targets that the loss does not take,
            labels without an output, or a loss that depends on other examples or on weights.
    """
    try:
        outputs = model(w, x)
    except ValueError:
        raise  # in our words
    except Exception:
        _blame(model, w, x)
        raise
    n, shape = len(x), tuple(outputs.shape)
    classes = model.loss is cross_entropy
    ok = outputs.dim() >= (2 if classes else 1) and len(outputs) == n
    require(ok, "shape of the outputs", shape, f"({n}, C)")
    if classes:
        _check_classes(outputs, labels)
    try:
        losses = model.loss(outputs, y)
    except Exception as error:
        allowed = f"what the loss takes with outputs of shape {shape} ({_first_line(error)})"
        require(False, "targets", f"{y.dtype} of shape {tuple(y.shape)}", allowed)
    require_type("loss", losses, Tensor, "one number for each example")
    with torch.enable_grad():
        losses = model.losses(outputs, y)
    allowed = "a function of outputs and targets; weights belong to net, weight_decay to LocalHP"
    require(not losses.requires_grad, "loss", "one that reads trained weights", allowed)
    if not classes:
        _check_alone(model, outputs, y, losses, labels)


def _check_alone(model: Model, outputs: Tensor, y: Tensor, losses: Tensor, labels: Tensor) -> None:
    """Refuse a loss that mixes examples, such as by broadcasting: it would mix clients.

    An example among two copies of itself must have the loss that it has beside one with another
    target.
    """
    other = labels[(labels != y[:1]).reshape(len(labels), -1).any(1)]
    if len(y) > 1 and len(other):
        y = torch.stack([y[0], other[0]])
        losses = model.losses(outputs, y)
    for i in range(len(y)):
        alone = model.losses(outputs[[i] * 3], y[[i] * 3])
        eps = torch.finfo(losses.dtype).eps ** 0.5
        same = torch.allclose(alone, losses[i].expand(3), eps, eps, equal_nan=True)
        allowed = "one that gives each example its own loss; are outputs (n, 1) and targets (n,)?"
        require(same, "loss", "one that mixes examples", allowed)


def _check_classes(outputs: Float[Tensor, "n C"], y: Tensor) -> None:
    C, shape = outputs.shape[1], tuple(y.shape)
    if y.is_floating_point():
        allowed = f"({len(y)}, {C}), probabilities; or whole numbers; or a loss for real targets"
        require(y.shape[1:] == outputs.shape[1:], "shape of real targets", shape, allowed)
    else:
        allowed = f"({len(y)},), one label for each example, as of y.flatten()"
        require(y.dim() == 1, "shape of the targets", shape, allowed)
        least, most = (int(t) for t in y.long().aminmax())
        allowed = f"from 0 to {C - 1}, as the model has {C} outputs"
        require(least >= 0 and most < C, "range of the labels", [least, most], allowed)


def _blame(model: Model, w: Tensor, x: Tensor) -> None:
    """Raise a ``ValueError`` that names the layer which does not take x, if one does not."""
    if x.dtype != w.dtype and not _error(partial(model, w), x.to(w.dtype)):
        allowed = f"{w.dtype}, that of the weights; images are often divided by 255"
        require(False, "dtype of x", str(x.dtype), allowed)
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        net = model.unflatten(w)
    at_work: list[tuple[str, nn.Module, Any]] = []
    for name, part in net.named_modules(prefix="net"):
        part.register_forward_pre_hook(lambda part, x, n=name: at_work.append((n, part, x)))
        part.register_forward_hook(lambda *_: (at_work.pop(), None)[1])
    error = _error(net, x)
    if error is None:
        return
    name, part, inputs = at_work[-1]
    layer = type(part).__name__ if [*part.children()] else repr(part)
    shapes = " and ".join(str(tuple(t.shape)) for t in inputs if isinstance(t, Tensor))
    allowed = f"what {name} takes, {layer}, whose input here has shape {shapes}"
    if not type(part).__module__.startswith("torch.nn"):  # it need not be the shape
        allowed += f" ({type(error).__name__}: {_first_line(error)})"
    require(False, "shape of an example", tuple(x.shape[1:]), allowed)


def _error(net: Callable[[Tensor], Tensor], x: Tensor) -> Exception | None:
    """Return the exception in a forward pass, if there is one."""
    try:
        net(x)
    except Exception as error:
        return error
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
