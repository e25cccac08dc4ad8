"""Batched LSTM layers for a GPU, where PyTorch's own LSTM takes one set of weights a call.

Autograd would add to each weight's gradient at every character. The backward pass here finds the
gates' gradients first, then those of the weights in one product.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def batched_lstm(
    x: Float[Tensor, "B b T E"], *weights: Float[Tensor, "B ..."]
) -> Float[Tensor, "B b T H"]:
    """Compute `layers.lstm` in one batch: x (B, b, T, E) -> hidden states (B, b, T, H).

    Raises:
        RuntimeError: the gradient is to be differentiated again (in the backward pass).

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """
    for i in range(0, len(weights), 4):
        w_ih, w_hh, b_ih, b_hh = weights[i : i + 4]
        x = _Layer.apply(x, w_ih, w_hh, b_ih + b_hh)  # type: ignore[no-untyped-call]
    return x


class _Layer(torch.autograd.Function):
    """One layer, whose gates i, f, g, o are slices of ``z_t = W_ih x_t + W_hh h_(t-1) + bias``.

    i, f and o pass through the logistic function, g through tanh; then
    ``c_t = f c_(t-1) + i g`` and ``h_t = o tanh(c_t)``, from ``h_0 = c_0 = 0``.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w_ih: Tensor, w_hh: Tensor, bias: Tensor) -> Tensor:
        B, b, T, _ = x.shape
        H = w_hh.shape[2]
        gates = torch.baddbmm(bias[:, None], x.flatten(1, 2), w_ih.mT).view(B, b, T, 4 * H)
        hs, cs = x.new_empty(B, b, T, H), x.new_empty(B, b, T, H)
        h = c = x.new_zeros(B, b, H)
        for t in range(T):
            now = gates[:, :, t]
            z = torch.baddbmm(now, h, w_hh.mT)
            torch.sigmoid(z, out=now)
            i, f, g, o = now.split(H, dim=-1)
            torch.tanh(z[..., 2 * H : 3 * H], out=g)
            c = torch.mul(f, c, out=cs[:, :, t]).addcmul_(i, g)
            h = torch.mul(o, c.tanh(), out=hs[:, :, t])
        ctx.save_for_backward(x, w_ih, w_hh, gates, hs, cs)
        return hs

    @staticmethod
    def backward(ctx: Any, d_hs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if torch.is_grad_enabled():  # PyTorch's once_differentiable would drop terms silently
            raise RuntimeError("batched_lstm cannot be differentiated twice; on the CPU, lstm can")
        x, w_ih, w_hh, gates, hs, cs = ctx.saved_tensors
        i, f, g, o = gates.chunk(4, dim=-1)
        tanh_c = cs.tanh()
        before_h, before_c = (F.pad(s[:, :, :-1], (0, 0, 1, 0)) for s in (hs, cs))
        # Slopes of all steps at once: dc_t = dh_t to_c and dz_t = (dc_t, dc_t, dc_t, dh_t) dz.
        # The loop then turns dz into dz_t in place.
        to_c = o * (1 - tanh_c**2)
        slopes = [g * i * (1 - i), before_c * f * (1 - f), i * (1 - g**2), tanh_c * o * (1 - o)]
        dz = torch.stack(slopes, dim=-2)
        dh = dc = torch.zeros_like(hs[:, :, 0])
        for t in reversed(range(x.shape[2])):
            now = dz[:, :, t]
            dh = dh + d_hs[:, :, t]
            dc = dc.addcmul(dh, to_c[:, :, t])
            now[..., :3, :] *= dc[..., None, :]
            now[..., 3, :] *= dh
            dc = dc * f[:, :, t]
            dh = torch.bmm(now.flatten(-2), w_hh)
        dz = dz.flatten(-2).flatten(1, 2)  # (B, b T, 4 H)
        dx = torch.bmm(dz, w_ih).view_as(x)
        of_weights = (dz.mT @ x.flatten(1, 2), dz.mT @ before_h.flatten(1, 2), dz.sum(1))
        return dx, *of_weights
