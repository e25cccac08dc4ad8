"""The ensemble of FedTune's server: the outputs of the clients' models on its validation data."""

from math import nan

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.communicate import train_clients
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.gather import Part, Sums, Tile
from fedlab_edu.rounds.run import Run
from fedlab_edu.training.memory import SCORE_BYTES, activations
from fedlab_edu.training.scores import ROWS_AT_ONCE
from fedlab_edu.training.threads import plain_mode
from fedlab_edu.tuners.fedtune.credit import diverged


@plain_mode()
def train_ensemble(begun: Run, model: Model, fed: Federation) -> tuple[Run, Float[Tensor, "N M C"]]:
    """Return the run after a round of all clients, and the outputs of their models on the server's
    data; NaN for clients that have diverged."""
    N = len(fed)
    work = draw_work(begun, fed.sizes, N)
    sums = Sums([begun], [work], fed.sizes)
    outputs_of: dict[int, Tensor] = {}

    def part(tile: Tile) -> Part:
        outputs = _outputs(model, tile.update.personal, fed.val)
        finite = tile.finite & ~diverged(outputs).cpu()
        outputs[~finite.to(outputs.device)] = nan
        outputs_of.update(zip(work.client[tile.place].tolist(), outputs, strict=True))
        return sums.part(tile._replace(finite=finite))  # diverged clients are in neither average

    train_clients([begun], [work], model, fed.train, fed.val, part, sums.add)
    return sums.finish()[0], torch.stack([outputs_of[i] for i in range(N)])


@torch.no_grad()
def _outputs(model: Model, W: Float[Tensor, "B d"], data: Clients) -> Float[Tensor, "B M C"]:
    """Return the outputs of each of B models on all examples of all clients."""
    B = len(W)
    most = min(ROWS_AT_ONCE, SCORE_BYTES // activations(model, data, W))
    parts = rows_of(data).split(max(1, most // B))
    each = (data.inputs(rows).expand(B, *[-1] * data.x.dim()) for rows in parts)
    return torch.cat([model.outputs(W, x) for x in each], 1)


def rows_of(data: Clients) -> Int[Tensor, " M"]:
    """Return the rows of all clients' examples, end to end."""
    return torch.cat(data.rows).to(data.x.device)
