"""Every layer of ``torch.nn`` in `from_module`: as in a plain loop over clients, or refused."""

import pickle
import threading
from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from fedlab_edu import Clients, LocalHP, from_module, gradient, local_sgd, score
from fedlab_edu.models.layers import Drop
from fedlab_edu.training.scores import hessian_product
from tests.reference import plain_loop
from tests.test_layers import masks

F64 = torch.float64
SIZES = (4, 1, 3)  # examples of three clients: engines fill up the shorter minibatches


class Around(nn.Module):
    """A layer between a learned scale of its inputs and a linear layer with three outputs."""

    def __init__(
        self, layer: nn.Module, x: Tensor, call: Callable[[nn.Module, Tensor], Tensor] | None = None
    ) -> None:
        super().__init__()
        self.layer, self.call = layer, call or (lambda layer, x: layer(x))
        if x.is_floating_point():
            self.scale = nn.Parameter(1 + torch.rand(x.shape[1:]))
        with torch.random.fork_rng():
            features = deepcopy(self).double()._features(x)
        self.out = nn.Linear(features.shape[1], 3)

    def _features(self, x: Tensor) -> Tensor:
        return self.call(self.layer, x * self.scale if x.is_floating_point() else x).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self._features(x))


def real(*shape: int) -> Tensor:
    """Examples of all clients: real numbers of a shape."""
    return torch.randn(sum(SIZES), *shape, generator=torch.Generator().manual_seed(1), dtype=F64)


def ids(*shape: int) -> Tensor:
    """Examples of all clients: rows of a table with ten."""
    return torch.randint(10, (sum(SIZES), *shape), generator=torch.Generator().manual_seed(1))


def compare(net: nn.Module, x: Tensor) -> None:
    """Compare scores and gradients of three clients with plain autograd, one at a time."""
    net = net.double()
    model = from_module(net)
    gen = torch.Generator().manual_seed(2)
    noise = torch.randn(len(SIZES), model.d, dtype=F64, generator=gen)
    W = model.init() + 0.1 * noise
    y = torch.randint(3, (len(x),), generator=gen)
    clients = Clients(x, y, torch.arange(len(x)).split(SIZES))
    scores, gradients = score(model, W, clients), gradient(model, W, clients)
    for i in range(len(SIZES)):
        plain, (x_i, y_i) = deepcopy(net), clients.examples(i)
        trained = [p for p in plain.parameters() if p.requires_grad]
        nn.utils.vector_to_parameters(W[i], trained)
        outputs = plain(x_i)
        loss = F.cross_entropy(outputs, y_i)
        expected = torch.autograd.grad(loss, trained, allow_unused=True, materialize_grads=True)
        flat = torch.cat([g.to_dense().flatten() for g in expected])
        torch.testing.assert_close(model(W[i], x_i), outputs.detach(), rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(scores.loss[i], loss.detach(), rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(gradients[i], flat, rtol=1e-8, atol=1e-9)


def last(layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x)[0][:, -1]


def cell(layer: nn.Module, x: Tensor) -> Tensor:
    """Two steps of a recurrent cell; an LSTM's state is a pair."""
    state = layer(x[:, 1], layer(x[:, 0]))
    return state[0] if isinstance(state, tuple) else state


def attend(layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x, x, x)[0]


def itself(layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x, x)


def unpooled(layer: nn.Module, x: Tensor) -> Tensor:
    return layer[1](*layer[0](x))


torch.manual_seed(0)  # for the weights of the layers below
SPACE = {1: (7,), 2: (6, 7), 3: (4, 5, 6)}
TEXT, IMAGE, VECTOR, SERIES = ids(5), real(4, 6, 6), real(6), real(5, 6)
SWEEP: list[tuple[nn.Module, Tensor] | tuple[nn.Module, Tensor, Callable[..., Tensor]]] = [
    *((nn.Embedding(10, 4, **options), TEXT) for options in (
        {}, {"padding_idx": 0}, {"padding_idx": -1}, {"sparse": True},
        {"padding_idx": 3, "sparse": True},
    )),
    *((nn.EmbeddingBag(10, 4, mode=mode, padding_idx=pad), TEXT)
      for mode in ("sum", "mean", "max") for pad in (None, 3)),
    *((getattr(nn, f"Conv{n}d")(2, 4, 3, padding=1, padding_mode=mode), real(2, *SPACE[n]))
      for n in SPACE for mode in ("zeros", "reflect", "replicate", "circular")),
    *((getattr(nn, f"Conv{n}d")(2, 4, 3, padding="same", dilation=2, groups=2, bias=False),
       real(2, *SPACE[n])) for n in SPACE),
    *((getattr(nn, f"Conv{n}d")(2, 4, 2, stride=2), real(2, *SPACE[n])) for n in SPACE),
    *((getattr(nn, f"ConvTranspose{n}d")(2, 4, 3, 2, 1, 1, groups=2), real(2, *SPACE[n]))
      for n in SPACE),
    *((getattr(nn, f"{kind}Pool{n}d")(2, ceil_mode=True), real(2, *SPACE[n]))
      for n in SPACE for kind in ("Max", "Avg")),
    *((getattr(nn, f"LPPool{n}d")(2, 2), real(2, *SPACE[n])) for n in SPACE),
    *((getattr(nn, f"Adaptive{kind}Pool{n}d")(3), real(2, *SPACE[n]))
      for n in SPACE for kind in ("Max", "Avg")),
    *((nn.Sequential(getattr(nn, f"MaxPool{n}d")(2, return_indices=True),
                     getattr(nn, f"MaxUnpool{n}d")(2)), real(2, *[4] * n), unpooled)
      for n in SPACE),
    *((getattr(nn, f"InstanceNorm{n}d")(2, affine=affine), real(2, *SPACE[n]))
      for n in SPACE for affine in (True, False)),
    *((getattr(nn, f"{kind}Pad{n}d")(1), real(2, *SPACE[n]))
      for n in SPACE for kind in ("Zero", "Circular", "Reflection", "Replication")),
    *((getattr(nn, f"ConstantPad{n}d")(1, 2.0), real(2, *SPACE[n])) for n in SPACE),
    *((layer, IMAGE) for layer in (
        nn.GroupNorm(2, 4), nn.GroupNorm(2, 4, affine=False), nn.LocalResponseNorm(2),
        nn.CrossMapLRN2d(2), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2),
        nn.Unfold(2), nn.Sequential(nn.Unfold(2), nn.Fold((6, 6), 2)), nn.Softmax2d(),
        nn.Dropout2d(0.0), nn.Dropout3d(0.0), nn.FeatureAlphaDropout(0.0),
        nn.UpsamplingNearest2d(scale_factor=2), nn.UpsamplingBilinear2d(scale_factor=2),
        nn.Flatten(), nn.Unflatten(1, (2, 2)), nn.ZeroPad2d((1, 0, 2, 0)),
    )),
    (nn.Dropout1d(0.0), SERIES),
    *((nn.Upsample(scale_factor=2, mode=mode), real(2, *SPACE[n])) for n, mode in (
        (1, "nearest"), (1, "linear"), (2, "nearest"), (2, "nearest-exact"), (2, "bilinear"),
        (2, "bicubic"), (3, "nearest"), (3, "trilinear"),
    )),
    *((layer, VECTOR) for layer in (
        nn.Identity(), nn.Linear(6, 4), nn.Linear(6, 4, bias=False), nn.LayerNorm(6),
        nn.LayerNorm(6, elementwise_affine=False), nn.RMSNorm(6), nn.GroupNorm(3, 6), nn.CELU(),
        nn.ELU(), nn.GELU(), nn.GELU("tanh"), nn.GLU(), nn.Hardshrink(), nn.Hardsigmoid(),
        nn.Hardswish(), nn.Hardtanh(), nn.LeakyReLU(), nn.LogSigmoid(), nn.LogSoftmax(1),
        nn.Mish(), nn.PReLU(), nn.PReLU(6), nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(),
        nn.RReLU().eval(), nn.SELU(), nn.Sigmoid(), nn.SiLU(), nn.Softmax(1), nn.Softmin(1),
        nn.Softplus(), nn.Softshrink(), nn.Softsign(), nn.Tanh(), nn.Tanhshrink(),
        nn.Threshold(0.1, 2.0), nn.Dropout(0.0), nn.AlphaDropout(0.0),
        parametrizations.weight_norm(nn.Linear(6, 4)),
        parametrizations.spectral_norm(nn.Linear(6, 4)).eval(),
        parametrizations.orthogonal(nn.Linear(6, 4)),
        nn.Sequential(parametrizations.spectral_norm(nn.Linear(6, 4)), nn.Tanh()).eval(),
    )),
    (nn.Bilinear(6, 6, 4), VECTOR, itself),
    (nn.CosineSimilarity(), VECTOR, lambda layer, x: layer(x, x.flip(1))[:, None]),
    (nn.PairwiseDistance(), VECTOR, lambda layer, x: layer(x, x.flip(1))[:, None]),
    *((kind(6, 4, batch_first=True, **options), SERIES, last)
      for kind in (nn.RNN, nn.LSTM, nn.GRU)
      for options in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False})),
    (nn.RNN(6, 4, nonlinearity="relu", batch_first=True), SERIES, last),
    (nn.LSTM(6, 4, proj_size=2, batch_first=True), SERIES, last),
    (nn.LSTM(6, 4), SERIES, lambda layer, x: layer(x.transpose(0, 1))[1][0][0]),
    *((kind(6, 4), SERIES, cell) for kind in (nn.RNNCell, nn.LSTMCell, nn.GRUCell)),
    *((nn.MultiheadAttention(6, 2, batch_first=True).train(training), SERIES, attend)
      for training in (True, False)),
    *((nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True, norm_first=first).train(training),
       SERIES) for first in (True, False) for training in (True, False)),
    *((nn.TransformerEncoder(
        nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True), 2).train(training),
       SERIES, lambda layer, x: layer(x, src_key_padding_mask=x[..., 0] > 1.5))
      for training in (True, False)),
    *((nn.TransformerDecoder(
        nn.TransformerDecoderLayer(6, 2, 8, 0.0, batch_first=True), 1).train(training),
       SERIES, itself) for training in (True, False)),
    *((nn.Transformer(6, 2, 1, 1, 8, 0.0, batch_first=True).train(training), SERIES, itself)
      for training in (True, False)),
]  # fmt: skip


def name_of(case: tuple[nn.Module, ...]) -> str:
    return " ".join(repr(case[0]).split())[:70] + ("" if case[0].training else " eval")


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("case", SWEEP, ids=name_of)
def test_a_layer_gives_each_client_what_plain_autograd_gives(case):
    compare(Around(*case), case[1])


ELSEWHERE = nn.Linear(6, 6).double()  # no part of the networks that call it


def scattered(x: Tensor) -> Tensor:
    return torch.zeros_like(x).scatter_add(1, x.argsort(1), x)


FUNCTIONS: dict[str, tuple[Tensor, Callable[[Tensor], Tensor]]] = {
    "adaptive_avg_pool2d": (IMAGE, lambda x: F.adaptive_avg_pool2d(x, (2, 3))),
    "affine_grid": (IMAGE, lambda x: F.affine_grid(x[:, 0, :2, :3], [len(x), 1, 3, 3], False)),
    "argsort": (VECTOR, lambda x: x.gather(1, x.argsort(1))),
    "boolean mask": (VECTOR, lambda x: x * (x.sum(1, keepdim=True) > 6)),
    "bucketize": (VECTOR, lambda x: x * torch.bucketize(x, torch.linspace(-1, 1, 5).double())),
    "cdist": (SERIES, lambda x: torch.cdist(x, x[:, :2])),
    "cumprod": (VECTOR, lambda x: x.cumprod(1).cumsum(1)),
    "einsum": (SERIES, lambda x: torch.einsum("bij,bkj->bik", x, x)),
    "a frozen layer elsewhere": (VECTOR, deepcopy(ELSEWHERE).requires_grad_(False)),
    "fft": (VECTOR, lambda x: torch.fft.rfft(x).abs()),
    "fold": (IMAGE, lambda x: F.fold(F.unfold(x, 3, stride=2), 6, 3, stride=2)),
    "grid_sample": (IMAGE, lambda x: F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1).tanh(),
                                                   align_corners=False)),
    "group_norm": (IMAGE, lambda x: F.group_norm(x, 2)),
    "gather of rows": (SERIES, lambda x: x.take_along_dim(x.argmax(1, keepdim=True), 1)),
    "index_add": (VECTOR, lambda x: x.index_add(1, torch.tensor([0, 0, 2]), x[:, :3])),
    "instance_norm": (IMAGE, F.instance_norm),
    "interpolate": (IMAGE, lambda x: F.interpolate(x, (4, 9), mode="area")),
    "layer_norm": (SERIES, lambda x: F.layer_norm(x, (5, 6))),
    "linalg": (IMAGE, lambda x: torch.linalg.solve(x[:, 0] + 9 * torch.eye(6), x[:, 1])),
    "logsumexp": (SERIES, lambda x: x.logsumexp(1)),
    "masked_fill": (VECTOR, lambda x: x.masked_fill(x > 1, 0.5)),
    "matrix_exp": (IMAGE, lambda x: torch.linalg.matrix_exp(0.1 * x)),
    "max over time": (SERIES, lambda x: x.max(1).values),
    "median": (VECTOR, lambda x: x.median(1, keepdim=True).values),
    "normalize": (VECTOR, F.normalize),
    "one_hot": (TEXT, lambda x: F.one_hot(x, 10).double()),
    "pad": (IMAGE, lambda x: F.pad(x, (1, 2, 0, -1), mode="replicate")),
    "roll": (SERIES, lambda x: x.roll(1, 1) + x.flip(2)),
    "scaled_dot_product_attention": (
        SERIES, lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)),
    "scatter_add": (VECTOR, scattered),
    "searchsorted": (VECTOR, lambda x: x * torch.searchsorted(x.sort(1).values.detach(), x)),
    "std": (SERIES, lambda x: x.std(1)),
    "stft": (real(16), lambda x: torch.stft(x, 8, window=torch.ones(8).double(),
                                            return_complex=True).abs()),
    "svdvals": (IMAGE, lambda x: torch.linalg.svdvals(x[:, 0])),
    "topk": (VECTOR, lambda x: x.topk(2, dim=1).values),
    "tril": (IMAGE, lambda x: x.tril()),
    "where": (VECTOR, lambda x: torch.where(x > 0, x**3, x.exp())),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_each_client_what_plain_autograd_gives(name):
    x, function = FUNCTIONS[name]
    compare(Around(nn.Identity(), x, lambda _, x: function(x)), x)


class Function(nn.Module):
    """A forward pass in one function of a linear layer's outputs, or of ids, and the module."""

    def __init__(self, call: Callable[[nn.Module, Tensor], object], **parts: nn.Module) -> None:
        super().__init__()
        self.linear, self.call = nn.Linear(6, 3), call
        self.register_buffer("count", torch.zeros(1))
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Tensor) -> object:
        return self.call(self, self.linear(x) if x.is_floating_point() else x)


def counted(net: nn.Module, x: Tensor) -> Tensor:
    net.count += 1
    return x


def replaced(net: nn.Module, x: Tensor) -> Tensor:
    net.count = net.count + 1
    return x


@torch.no_grad()
def constant(net: nn.Module, x: Tensor) -> Tensor:
    return x.detach()


class Listed(nn.Module):
    """A parameter that the forward pass reads from a list, where no other can be put."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 3)
        self.found = [self.linear.weight]

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.found[0])


class Holding(nn.Module):
    """A forward pass whose function holds the network, which a deep copy does not change."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 3)
        self.call = lambda x: self.linear(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x)


def another() -> nn.Module:
    net = nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 3))
    net[0].register_forward_hook(lambda part, x, out: out + net[1](out))
    return net


def with_lock() -> nn.Module:
    net = nn.Linear(6, 3)
    net.lock = threading.Lock()
    return net


def computed_twice(net: nn.Module, x: Tensor) -> Tensor:
    return checkpoint(lambda x: net.part(x).tanh(), x, use_reentrant=False)


def frozen(net: nn.Module) -> nn.Module:
    return net.requires_grad_(False)


BATCH, IDS = real(6), ids(5)
REFUSED: list[tuple[nn.Module, str] | tuple[nn.Module, str, Tensor]] = [
    *((nn.Sequential(getattr(nn, name)(3)), rf"net\.0 is '{name}'; allowed: GroupNorm or no")
      for name in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")),
    *((nn.Sequential(getattr(nn, f"InstanceNorm{n}d")(3, track_running_stats=True)),
       rf"net\.0 is 'InstanceNorm{n}d'; allowed: GroupNorm or no") for n in SPACE),
    (nn.Sequential(nn.Dropout(0.1)), r"net\.0 is 'Dropout'; allowed: dropout with p = 0; the rate"),
    *((nn.Sequential(getattr(nn, name)(0.1)), rf"net\.0 is '{name}'; allowed: nn\.Dropout with p")
      for name in ("Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")),
    (nn.MultiheadAttention(6, 2, 0.1), r"net is 'MultiheadAttention'; allowed: dropout=0\.0; nn"),
    (nn.TransformerEncoderLayer(6, 2).eval(), r"net\.self_attn is 'MultiheadAttention'; allowed"),
    *((kind(6, 4, 2, dropout=0.1), r"net is '\w+'; allowed: dropout=0\.0; nn\.Dropout\(0\.0\)")
      for kind in (nn.RNN, nn.LSTM, nn.GRU)),
    (nn.Sequential(nn.RReLU()), r"net\.0 is 'RReLU'; allowed: LeakyReLU"),
    (nn.FractionalMaxPool2d(2, 3), "net is 'FractionalMaxPool2d'; allowed: MaxPool"),
    (nn.FractionalMaxPool3d(2, 3), "net is 'FractionalMaxPool3d'; allowed: MaxPool"),
    *((kind(9, 2, max_norm=1.0), rf"net is '{kind.__name__}'; allowed: max_norm=None")
      for kind in (nn.Embedding, nn.EmbeddingBag)),
    *((kind(9, 2, scale_grad_by_freq=True), "net is '\\w+'; allowed: scale_grad_by_freq=False")
      for kind in (nn.Embedding, nn.EmbeddingBag)),
    (nn.EmbeddingBag(9, 2, sparse=True), "net is 'EmbeddingBag'; allowed: sparse=False"),
    *((getattr(nn, f"Lazy{name}")(*sizes), f"net is 'Lazy{name}'; allowed: a layer with sizes")
      for name, sizes in (
          ("Linear", [2]), *((f"Conv{n}d", [2, 3]) for n in SPACE),
          *((f"ConvTranspose{n}d", [2, 3]) for n in SPACE),
    )),
    *((getattr(nn, f"Lazy{kind}{n}d")(), f"net is 'Lazy{kind}{n}d'; allowed: ")
      for kind in ("BatchNorm", "InstanceNorm") for n in SPACE),
    (nn.DataParallel(nn.Identity()), "net is 'DataParallel'; allowed: the network inside, as n"),
    (nn.Linear(2, 2, device="meta"), "net is 'Linear'; allowed: numbers, on another device than"),
    (nn.Linear(2, 2, dtype=torch.complex64), "net is 'Linear'; allowed: real parameters"),
    (frozen(nn.Linear(2, 2)), "trained parameters of net is 0; allowed: at least one with requ"),
    # what only a forward pass tells
    (parametrizations.spectral_norm(nn.Linear(6, 3)), r"net.parametrizations\.weight.0\._u is 'ch"),
    (Function(counted), "net.count is 'changed'; allowed: the same after a forward pass; running"),
    (Function(replaced), "net.count is 'changed'; allowed: the same after a forward pass"),
    (Function(lambda net, x: F.dropout(x, 0.5, net.training)), "net is 'Function'; allowed: a forwa"
     "rd pass without random numbers; nn.Dropout"),
    (Function(lambda net, x: F.gumbel_softmax(x)), "allowed: a forward pass without random"),
    (Function(lambda net, x: x + torch.rand_like(x)), "allowed: a forward pass without random"),
    *((Function(call), "net is 'Function'; allowed: a network that treats each example by itself")
      for call in (
          lambda net, x: x - x.mean(0), lambda net, x: x.softmax(0), lambda net, x: x.flip(0),
          lambda net, x: x.flatten(), lambda net, x: x.mean(), lambda net, x: x.squeeze(),
          lambda net, x: F.batch_norm(x, None, None, training=True),
          lambda net, x: x / len(x), lambda net, x: x.sort(0).values, lambda net, x: x.T,
    )),
    (Around(nn.LSTM(6, 4), SERIES, last), "allowed: a network that treats each ex", SERIES),
    (Around(nn.MultiheadAttention(6, 2), SERIES, attend), "allowed: a network that tre", SERIES),
    (nn.TransformerEncoderLayer(6, 2, 8, 0.0), "allowed: a network that treats each ex", SERIES),
    (nn.LSTM(6, 4, batch_first=True), "outputs of net is 'tuple'; allowed: one tensor", SERIES),
    (Function(lambda net, x: (x, x)), "outputs of net is 'tuple'; allowed: one tensor of real"),
    (Function(lambda net, x: x.argmax(1)), r"outputs of net is 'torch\.int64'; allowed: one tens"),
    (Function(lambda net, x: x + 0j), r"outputs of net is 'torch\.complex128'; allowed: one tens"),
    (Function(constant), "outputs of net is 'constant'; allowed: differentiable with respect to"),
    (Function(lambda net, x: x if x.isfinite().all() else -x), "a forward pass without `if`"),
    (Function(lambda net, x: x * x.sum().item() ** 0), "a forward pass without `if`"),
    (Listed(), "net is 'Listed'; allowed: a network that torch.func.functional_call can call"),
    (Function(computed_twice, part=nn.Linear(3, 3)), "net is 'Function'; allowed: .* and without to"
     r"rch\.utils\.checkpoint"),
    (Holding().double(), "net is 'Holding'; allowed: layers of net, which a copy has, too"),
    (another().double(), "net is 'Sequential'; allowed: layers of net, which a copy has, "),
    (Function(lambda net, x: ELSEWHERE(x.repeat(1, 2))),
     r"net is 'Function'; allowed: layers of net, .* others after \.requires_grad_\(False\)$"),
    (with_lock(), r"net is 'Linear'; allowed: what copy\.deepcopy can copy \(cannot pickle '_thr"),
    (Function(lambda net, x: F.embedding(x, net.linear.weight, max_norm=1.0)),
     r"max_norm of F\.embedding is 1\.0; allowed: None", IDS),
    (Function(lambda net, x: F.embedding(x, net.linear.weight, scale_grad_by_freq=True)),
     "scale_grad_by_freq of F.embedding is True; allowed: False", IDS),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[1][:60])
def test_what_clients_cannot_share_is_refused_by_name(case):
    net, message, x = case if len(case) == 3 else (*case, BATCH)
    with pytest.raises(ValueError, match=message) as caught:  # noqa: PT012
        model = from_module(net)
        model(model.init().double(), x)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_a_network_that_holds_what_it_has_computed_is_refused():
    old = nn.Sequential(nn.utils.weight_norm(nn.Linear(6, 4)))
    buffer, attribute = nn.Linear(6, 4), nn.Linear(6, 4)
    buffer.register_buffer("last", buffer(torch.ones(2, 6)))
    attribute.last = attribute(torch.ones(2, 6))
    for net, name in (old, r"net\.0\.weight"), (buffer, r"net\.last"), (attribute, r"net\.last"):
        with pytest.raises(ValueError, match=f"{name} is 'the result of a computation'; allowed: "):
            from_module(net)


def test_a_trained_weight_in_memory_that_is_another_tensors_too_is_refused():
    """In PyTorch both change with each step; copies of the network have one of each."""
    for place in "data", "buffer", "attribute", "transposed":
        net = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6))
        if place == "data":
            net[1].weight.data = net[0].weight.data
        elif place == "buffer":
            net[1].register_buffer("initial", net[0].weight.detach())
        elif place == "attribute":
            net[1].initial = net[0].weight.detach()
        else:
            net[1].weight = nn.Parameter(net[0].weight.T)
        with pytest.raises(
            ValueError, match=r"^memory of net\.\d\.\w+ is 'shared with net\.\d\.weight'; a"
        ):
            from_module(net)
    net[1].weight = net[0].weight
    net[1].initial = net[0].weight.detach().clone()
    assert from_module(net).d == 6 * 6 + 6 + 6


def test_every_layer_of_pytorch_is_in_the_sweep_or_refused():
    nets = [case[0] for case in (*SWEEP, *REFUSED) if isinstance(case[0], nn.Module)]
    seen = {type(part).__name__ for net in nets for part in net.modules()}
    no_layers = {"Container", "Module", "RNNBase", "RNNCellBase", "LinearCrossEntropyOptions"}
    no_layers |= {"ParameterDict", "ParameterList", "NLLLoss2d"}  # kept by the networks below
    missing = {name for name in dir(nn.modules) if isinstance(getattr(nn.modules, name), type)}
    missing -= seen | no_layers
    assert {name for name in missing if not name.endswith("Loss")} == set()


class Tied(nn.Module):
    """An embedding whose table is the last layer, too; a shared, a frozen and an unused one."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.shared = nn.Embedding(10, 6, padding_idx=3), nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6).requires_grad_(False)
        self.out = nn.Linear(6, 10)
        self.out.weight = self.table.weight
        self.unused = nn.Parameter(torch.ones(2))
        self.parts = nn.ModuleDict({"a": nn.ModuleList([nn.Tanh(), self.shared])})
        self.extra = nn.ParameterDict({"list": nn.ParameterList([torch.ones(6)])})
        self.register_buffer("order", torch.arange(9, -1, -1))
        self.register_buffer("mask", torch.tensor([1.0, 0, 1, 1, 1, 1]))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.shared(self.table(x).sum(1)) * self.mask)
        for part in self.parts["a"]:
            x = part(x)
        return self.out(x * self.extra["list"][0])[:, self.order]


def in_place(net: nn.Module, x: Tensor) -> Tensor:
    z = torch.zeros(len(x), 4, dtype=x.dtype)
    z[:, 1:] = x
    return z


def hooked() -> nn.Module:
    net = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    net[0].register_forward_hook(lambda part, x, out: out * 2)
    net[1].register_forward_pre_hook(lambda part, x: (x[0] + 1,))
    net[2].register_full_backward_hook(lambda part, to_x, to_out: (to_x[0] * 3,))
    return net


OTHERS = {
    "tied, shared, frozen and unused weights": (Tied(), IDS),
    "a frozen table": (
        nn.Sequential(
            nn.Embedding.from_pretrained(torch.rand(10, 4), padding_idx=3),
            nn.Flatten(),
            nn.Linear(20, 3),
        ),
        IDS,
    ),
    "positions": (
        Function(
            lambda net, x: net.linear(net.table(x) + net.place(torch.arange(5))).mean(1),
            table=nn.Embedding(10, 6),
            place=nn.Embedding(5, 6, padding_idx=1),
        ),
        IDS,
    ),
    "ids that begin at 1": (
        Function(lambda net, x: net.linear(net.table(x - 1)).mean(1), table=nn.Embedding(10, 6)),
        IDS + 1,
    ),
    "an inverse, which no network of zeros has": (
        Function(lambda net, x: x @ torch.linalg.inv(net.part.weight), part=nn.Linear(3, 3)),
        BATCH,
    ),
    "a gradient in the forward pass": (
        Function(
            lambda net, x: vmap(grad(lambda x: net.part(x).tanh().sum()))(x), part=nn.Linear(3, 3)
        ),
        BATCH,
    ),
    "F.embedding with padding": (
        Function(lambda net, x: F.embedding(x % 3, net.linear.weight, padding_idx=2).mean(1)),
        IDS,
    ),
    "a lookup that vmap gets wrong": (
        Function(lambda net, x: torch.embedding(net.linear.weight, x % 3, 2).mean(1)),
        IDS,
    ),
    "a new tensor that is written to": (Function(in_place), BATCH),
    "detach": (Function(lambda net, x: x * x.detach() + x.abs().detach()), BATCH),
    "hooks": (hooked(), BATCH),
    "attention that is causal": (
        Function(
            lambda net, x: F.scaled_dot_product_attention(*[net.table(x)] * 3, is_causal=True)[
                :, -1
            ],
            table=nn.Embedding(10, 6),
        ),
        IDS,
    ),
    "weights of single precision elsewhere": (
        Function(lambda net, x: x + torch.linspace(0, 1, 3, dtype=torch.float32)),
        BATCH,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_network_with_odd_parts_gives_each_client_what_plain_autograd_gives(name):
    compare(*OTHERS[name])


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 5, batch_first=True)
        self.drop, self.out = nn.Dropout(0.0), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.drop(self.lstm(x)[0][:, -1]))


def test_a_recurrent_network_trains_as_in_a_plain_loop():
    model = from_module(Recurrent().double())
    y = torch.randint(3, (len(SERIES),), generator=torch.Generator().manual_seed(3))
    clients = Clients(SERIES, y, torch.arange(len(y)).split(SIZES))
    c = LocalHP(lr=[0.1, 0.2, 0.3], batch=[2, 3, 2], epochs=3, momentum=0.5, mu=0.1)
    W = local_sgd(model, model.init(), clients, c, [1, 2, 3])
    expected = plain_loop(model, model.init(), clients, c, [1, 2, 3])
    torch.testing.assert_close(W, expected, rtol=0, atol=1e-12)


def test_a_network_that_runs_one_client_at_a_time_drops_with_each_clients_rate():
    net = Recurrent().double()
    model, x = from_module(net), SERIES[:6].view(3, 2, 5, 6)
    drop = Drop(torch.tensor([5, -6, 7]), torch.tensor([0.5, 0.1, 0.8], dtype=F64))
    outputs = model.forward(model.views(model.init().expand(3, -1)), x, drop)
    for i, mask in enumerate(masks(drop, 0, (2, 5))):
        expected = net.out(mask * net.lstm(x[i])[0][:, -1])
        torch.testing.assert_close(outputs[i], expected, rtol=0, atol=1e-12)


def test_a_model_of_a_network_survives_a_pickle_before_and_after_its_use():
    for net, x in (Tied().double(), IDS), (Recurrent().double(), SERIES):
        model = from_module(net)
        fresh = pickle.loads(pickle.dumps(model))
        expected = model(model.init(), x)
        for again in (fresh, pickle.loads(pickle.dumps(model)), deepcopy(model)):
            assert torch.equal(again(model.init(), x), expected)
            assert torch.equal(again.init(), model.init())


def reader(frozen: bool, reads: str) -> nn.Module:
    net = Around(nn.Embedding(10, 6), IDS)
    if reads != "alone":
        net = Around(nn.Sequential(nn.Embedding(10, 6), nn.GRU(6, 4, batch_first=True)), IDS, last)
    net.layer.requires_grad_(not frozen)
    return net


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("reads", ["alone", "with a recurrent layer"])
def test_ids_of_one_byte_are_looked_up_as_others_are(frozen, reads):
    net = reader(frozen, reads)
    model = from_module(net)
    torch.testing.assert_close(model(model.init(), IDS.byte()), net(IDS))


@pytest.mark.parametrize("wrong", [-1, 10, 300])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("reads", ["alone", "with a recurrent layer"])
def test_an_id_outside_the_table_is_named(wrong, frozen, reads):
    net = reader(frozen, reads)
    model, x = from_module(net), IDS.clone()
    model(model.init(), x)
    x[3, 2] = wrong
    for use in (model, from_module(net)):  # at a later use, and at the first
        with pytest.raises(ValueError, match=rf"x is \[{wrong}\]; allowed: from 0 to 9, the rows"):
            use(model.init(), x[[3, 0]])


def test_the_hessian_of_an_embedding_is_that_of_plain_autograd():
    net = Around(nn.Embedding(10, 4, padding_idx=3), IDS).double()
    model, y = from_module(net), torch.arange(len(IDS)) % 3
    clients = Clients(IDS, y, torch.arange(len(y)).split(SIZES))
    u = torch.randn(3, model.d, dtype=F64)
    products = hessian_product(model, model.init(), clients, u)
    for i in range(3):
        x_i, y_i = clients.examples(i)
        p = list(net.parameters())
        first = torch.autograd.grad(F.cross_entropy(net(x_i), y_i), p, create_graph=True)
        slope = torch.cat([g.flatten() for g in first]) @ u[i]
        expected = torch.cat([g.flatten() for g in torch.autograd.grad(slope, p)])
        torch.testing.assert_close(products[i], expected, rtol=1e-9, atol=1e-12)


def test_half_precision_gives_what_plain_half_precision_gives():
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).bfloat16()
    model, x = from_module(net), BATCH.bfloat16()
    assert model.init().dtype == torch.bfloat16
    torch.testing.assert_close(model(model.init(), x), net(x), rtol=0.02, atol=0.02)


def test_gradients_may_be_switched_off_at_the_first_use():
    for context in (torch.no_grad(), torch.inference_mode()):
        for layer, call in (nn.Linear(6, 4), None), (nn.GRU(6, 4, batch_first=True), last):
            net = Around(layer, SERIES, call).double()
            model = from_module(net)
            with context:
                outputs = model(model.init(), SERIES)
                torch.testing.assert_close(outputs, net(SERIES), rtol=0, atol=1e-12)


def test_trying_a_network_out_leaves_pytorchs_generator_and_the_network_alone():
    net = Function(lambda net, x: x)
    generator = torch.get_rng_state()
    model = from_module(net.double())
    model(model.init(), BATCH)
    assert torch.equal(generator, torch.get_rng_state())
    assert all(p.grad is None for p in net.parameters())
    assert torch.equal(model.init(), nn.utils.parameters_to_vector(net.parameters()))
