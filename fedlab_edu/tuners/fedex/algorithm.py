"""FedEx, Algorithm 2 of Khodak et al. (2021): clients' hyperparameters, tuned during training.

All clients of a round share one model w. Client i trains it with a row c_i of a table, drawn from
theta, and its score moves theta by exponentiated gradient.
"""

from math import exp, log
from typing import NamedTuple

from fedlab_edu.tuners.fedex.rules import draw_row, exponentiate, gradient, step_size


class Theta(NamedTuple):
    """A distribution over k rows: ``z = log theta``, and the largest ``|g_j|`` of each gradient."""

    z: list[float]
    norms: list[float]

    @classmethod
    def uniform(cls, k: int) -> "Theta":
        """Return the uniform distribution, theta_1 <- 1_k / k."""
        return cls([-log(k)] * k, [])

    @property
    def theta(self) -> list[float]:
        """The probabilities of the k rows."""
        return [exp(z_j) for z_j in self.z]

    def draw(self, u: list[float]) -> list[int]:
        """Draw a row for each client i of the round, c_i ~ D_theta, at uniform draws u_i."""
        theta = self.theta
        return [draw_row(theta, u_i) for u_i in u]

    def update(
        self, row: list[int], score: list[float], size: list[float], baseline: float,
        step: str = "aggressive", eta0: float | None = None, scale: list[float] | None = None,
    ) -> "Theta":  # fmt: skip
        """Return the next theta, for scores L_{V_i}(w_i), sizes |V_i| and a baseline lambda_t.

        For ``row`` and ``scale`` see `gradient`, for ``step`` and ``eta0`` `step_size`.
        """
        # g_j <- sum_{i: c_i = c_j} |V_i| (L_{V_i}(w_i) - lambda_t) / (theta_j sum_i |V_i|)
        g = gradient(self.theta, row, score, size, baseline, scale)
        # eta_t, by one of the rules of appendix F
        norms = [*self.norms, max(abs(g_j) for g_j in g)]
        eta = step_size(step, norms, len(g), eta0)
        # theta <- theta exp(-eta_t g), normalised
        return Theta(exponentiate(self.z, g, eta), norms)
