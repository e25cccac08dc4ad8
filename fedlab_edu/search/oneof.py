"""Conditional search spaces: a choice between methods, each with hyperparameters of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import torch

from fedlab_edu.methods import Method, check_mu
from fedlab_edu.search.distributions import Distribution, check_distributions
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import check_generator
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.validate import require, require_type


@dataclass(frozen=True)
class Option:
    """A method, and the distributions of the hyperparameters that it reads.

    Args:
        method: such as ``FedAdam()``.
        spaces: of its clients and its server; mu only for a method that uses it.
        own: a distribution for some fields of the method that hold numbers, as in
            ``{"tau": LogUniform(1e-5, 0.1)}``.
    """

    method: Method
    spaces: Spaces
    own: Mapping[str, Distribution] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ok = isinstance(self.method, Method) and not isinstance(self.method, type)
        require(ok, "method", self.method, "a method, such as FedAvg()")
        require_type("spaces", self.spaces, Spaces, "Spaces(SearchSpace({...}))")
        mu = self.spaces.client.distributions.get("mu")
        if mu is not None:
            check_mu(self.method, LocalHP(mu=mu.points(4)))
        own: dict[str, Any] = vars(self.method) if is_dataclass(self.method) else {}
        names = [name for name, value in own.items() if isinstance(value, int | float)]
        require_type("own", self.own, Mapping, '{"tau": LogUniform(1e-5, 0.1)}')
        check_distributions(self.own, names, f"field of {type(self.method).__name__}")
        for name, d in self.own.items():
            for value in d.points(4):  # includes both ends
                self._with({name: value})

    def draw(self, gen: torch.Generator) -> Method:
        """Return the method with random values of its own fields."""
        check_generator(gen)
        u = {name: torch.rand((), generator=gen, dtype=torch.float64) for name in self.own}
        return self._with({name: float(d.from_unit(u[name])) for name, d in self.own.items()})

    def _with(self, values: Mapping[str, float]) -> Method:
        """Return the method with these fields; a field that holds a whole number stays whole."""
        new: dict[str, Any] = dict(values)
        for name, value in values.items():
            kind = type(getattr(self.method, name))
            if issubclass(kind, int):
                require(value == int(value), name, value, "whole numbers, as Integer(1, 5)")
                new[name] = kind(value)
        return replace(self.method, **new) if new else self.method  # type: ignore[type-var]


@dataclass(frozen=True)
class OneOf:
    """A choice between equally likely options, in place of `Spaces`.

    An arm draws one of them, and then its configuration. A hyperparameter that only one method
    reads stands in that method's space::

        sgd = {"lr": LogUniform(1e-3, 1), "epochs": Integer(1, 5)}
        server = SearchSpace({"lr": LogUniform(1e-3, 1)}, ServerHP)
        either = OneOf((
            Option(FedAvg(), Spaces(SearchSpace(sgd))),
            Option(FedProx(), Spaces(SearchSpace({**sgd, "mu": LogUniform(1e-5, 1)}))),
            Option(FedAdam(), Spaces(SearchSpace(sgd), server), {"tau": LogUniform(1e-5, 0.1)}),
        ))
        search = successive_halving(model, fed, either, total=500, cap=100)

    Two options with the same method make other conditions: momentum, say, where lr is low. With
    FedEx in the arms (``tuner=around(space)``) all options need that space of the clients.
    """

    options: tuple[Option, ...]

    def __post_init__(self) -> None:
        given = self.options
        options = tuple(given) if isinstance(given, Sequence) else ()
        ok = options and all(isinstance(option, Option) for option in options)
        require(ok, "options", given, "options, as OneOf((Option(FedAvg(), spaces), ...))")
        object.__setattr__(self, "options", options)

    def draw(self, gen: torch.Generator) -> tuple[Method, Spaces]:
        """Draw an option; return its method and its spaces."""
        check_generator(gen)
        u = torch.rand((), generator=gen, dtype=torch.float64)
        option = self.options[int(u * len(self.options))]
        return option.draw(gen), option.spaces
