"""Test vectors of independent origin, and the quadratics that many of them are about."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fedlab_edu import Clients, Model

F64 = torch.float64


def case(algorithm: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Input and expected output of one case of ``tests/data/<algorithm>.A.json``."""
    text = (Path(__file__).parent / "data" / f"{algorithm}.A.json").read_text()
    (found,) = (c for c in json.loads(text)["cases"] if c["id"] == name)
    return found["input"], found["expected"]


def quadratic(A: list[list[list[float]]], mu: list[list[float]]) -> tuple[Model, Clients]:
    """Clients with one example each, on which the loss is ``1/2 (w - mu_i)' A_i (w - mu_i)``."""
    x = torch.cat([torch.tensor(A, dtype=F64).flatten(1), torch.tensor(mu, dtype=F64)], dim=1)
    n, d = len(mu), len(mu[0])

    def forward(p: list[Tensor], x: Tensor) -> Tensor:
        curvature, centre = x[..., : d * d].unflatten(-1, (d, d)), x[..., d * d :]
        away = p[0][:, None] - centre
        return torch.einsum("Bbi,Bbij,Bbj->Bb", away, curvature, away)[..., None] / 2

    model = Model(
        net=lambda: nn.ParameterList([torch.zeros(d)]),
        forward=forward,
        shapes=((d,),),
        flipped=(False,),
        loss=lambda outputs, y: outputs[:, 0],
    )
    return model, Clients(x, torch.zeros(n, dtype=torch.long), torch.arange(n).split(1))
