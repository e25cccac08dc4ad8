"""Dataclasses that check their fields by the annotations."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from fedlab_edu.validate import Checked, not_negative, one_of, positive, share, whole
from tests import typecheck


@dataclass(frozen=True)
class Settings(Checked):
    rounds: Annotated[int, partial(whole, least=1)]
    lr: Annotated[float, positive] = 0.1
    decay: Annotated[float, not_negative] = 0.0
    gamma: Annotated[float, share] = 1.0
    limit: Annotated[int, partial(whole, least=0)] | None = None
    rule: Literal["mean", None] = "mean"
    kind: Annotated[str | None, one_of(("a", None))] = "a"
    always: bool = False


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rounds": 0}, "rounds is 0; allowed: a whole number of at least 1"),
        ({"lr": 0.0}, "lr is 0.0; allowed: a finite number above 0"),
        ({"lr": "0.1"}, "lr is '0.1'; allowed: a finite number above 0"),
        ({"decay": -1e-9}, "decay is -1e-09; allowed: a finite number of at least 0"),
        ({"gamma": float("nan")}, "gamma is nan; allowed: a number from 0 to 1"),
        ({"limit": -1}, "limit is -1; allowed: a whole number of at least 0"),
        ({"rule": "median"}, "rule is 'median'; allowed: 'mean', None"),
        ({"kind": "b"}, "kind is 'b'; allowed: 'a', None"),
        ({"always": 1}, "always is 1; allowed: True, False"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(wrong, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        Settings(**{"rounds": 3, **wrong})
    with pytest.raises(ValueError, match=f"^{says}$"):
        replace(Settings(3), **wrong)


def test_numbers_are_stored_as_built_in_ones_and_none_stays_where_it_is_allowed():
    found = Settings(np.int64(3), np.float32(0.5), gamma=1, limit=None, rule=None, kind=None)
    assert found == Settings(3, 0.5, gamma=1.0, rule=None, kind=None)
    assert [type(x) for x in (found.rounds, found.lr, found.limit)] == [int, float, type(None)]
    assert type(Settings(3, limit=np.int64(2)).limit) is int


def test_under_test_a_function_within_a_function_is_checked_too_if_it_names_shapes():
    @typecheck.jaxtyped(typechecker=typecheck.typechecker)
    def norms(x: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        return x.norm(dim=1)

    assert norms(torch.ones(2, 4)).tolist() == [2, 2]
    with pytest.raises(TypeCheckError):
        norms(torch.ones(4))


def test_under_test_a_function_is_checked_in_its_first_calls(monkeypatch):
    @typecheck.jaxtyped(typechecker=typecheck.typechecker)
    def same(x: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        return x

    monkeypatch.setattr(typecheck, "LIMIT", 2)
    for _ in range(2):
        with pytest.raises(TypeCheckError):
            same(torch.ones(1, 1))
    assert same(torch.ones(1, 1)).shape == (1, 1)
