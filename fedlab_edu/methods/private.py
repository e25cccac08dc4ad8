"""DP-FedAvg: clipped changes and Gaussian noise, for client-level differential privacy.

McMahan, Ramage, Talwar, Zhang (2018), *Learning differentially private recurrent language models*,
Algorithm 1 with flat clipping, for rounds of B clients with equal weights.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.validate import extra, not_negative, number, positive, require, whole


@dataclass(frozen=True)
class DPFedAvg(FedAvg):
    """Clients clip their changes to the length `clip`; the server adds noise to their mean.

    The noise of each coordinate has the standard deviation ``noise * clip / B``. B includes
    diverged clients, as changes of 0. See `privacy` for the guarantee.

    Args:
        clip: the bound S on the length of a client's change, above 0.
        noise: the noise multiplier z, at least 0.
    """

    clip: Annotated[float, positive] = 1.0
    noise: Annotated[float, not_negative] = 1.0
    equal_weights: ClassVar[bool] = True
    agg_always: ClassVar[bool] = True  # without noise, w would tell that all have diverged

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run local SGD from w, and clip the change."""
        update = super().loc(inputs)
        change = update.model - inputs.w
        shrink = (self.clip / change.norm(dim=1, keepdim=True)).clamp_max(1)
        return update._replace(model=inputs.w + change * shrink)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Add the noise, then take FedAvg's step."""
        drawn = torch.randn(len(server.w), generator=update.generator(), dtype=torch.float64)
        mean = (update.average - server.w) * (len(update.n) / update.drawn)
        mean = mean + drawn.to(mean) * (self.noise * self.clip / update.drawn)
        return super().agg(server, update._replace(average=server.w + mean), b)


def privacy(noise: float, clients: int, of: int, rounds: int, delta: float) -> float:
    """Return epsilon: all rounds together are (epsilon, delta)-differentially private.

    Neighbouring federations differ in the data of one client. Each round draws B of N clients
    without replacement, the default of `start`. Accounts by Rényi differential privacy; needs
    ``dp-accounting``. It covers w alone: scores have no noise, so it does not cover a tuner or a
    search that uses them.

    Args:
        noise: the noise multiplier of `DPFedAvg`, relative to the length of one client's change.
        clients, of: B and N.
        delta: above 0 and below 1; usually below 1 / N.
    """
    allowed = "from 1e-6 to 1e6: without noise nothing is private"
    require(1e-6 <= number(noise) <= 1e6, "noise", noise, allowed)
    of, rounds = whole("of", of, 1), whole("rounds", rounds, 1)
    clients = whole("clients", clients, 1, of)
    require(0 < number(delta) < 1, "delta", delta, "above 0 and below 1")
    dp = extra("dp-accounting", "privacy")
    accountant = dp.rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE)
    one = dp.SampledWithoutReplacementDpEvent(of, clients, dp.GaussianDpEvent(noise / 2))
    accountant.compose(one, rounds)
    return float(accountant.get_epsilon(delta))
