"""Online estimation of parameters: recursive least squares, sample by sample, with or without forgetting.

The triangular factor R of all rows so far is updated by a QR factorisation of [λ^½ R; new rows]: the same numbers
as least squares over all rows at once, however long it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoError

if TYPE_CHECKING:
    from .model import TorqueModel
    from .result import Identification


class RecursiveLeastSquares:
    """Parameters of an identified model that follow new samples.

    Args:
        model: an identification, or the columns of its model.
        sigma: (n,) standard deviation of every joint's torque; that of the identification by default.
        forgetting: weight of all earlier samples with each new one, up to 1; 0.999 remembers about 1000 samples.
        start: whether the identification's parameters and their covariance are known before the first sample.
            Without, parameters come from new samples alone.
        load: parameters that predict the load, where friction depends on it and `model` is not an identification.
    """

    model: TorqueModel
    load: np.ndarray | None
    forgetting: float
    samples: int

    def __init__(
        self,
        model: Identification | TorqueModel,
        *,
        sigma: ArrayLike | None = None,
        forgetting: float = 1.0,
        start: bool = False,
        load: np.ndarray | None = None,
    ):
        from .result import Identification

        if not 0.0 < forgetting <= 1.0:
            raise ZvenoError(f"is {forgetting}", element="forgetting", remedy="Give a number in (0, 1]")
        known = model if isinstance(model, Identification) else None
        if start and known is None:
            raise ZvenoError(
                "needs an identification", element="start", remedy="Give the result of robot.identify(log)"
            )
        self.model = model.model if isinstance(model, Identification) else model
        self.load = known.load if load is None and known is not None else load
        n, p = self.model.n, self.model.n_columns
        scatter = known.sigma if sigma is None and known is not None else sigma
        self.sigma: np.ndarray = (
            np.ones(n) if scatter is None else np.broadcast_to(np.asarray(scatter, float), (n,))
        )
        self.forgetting, self.samples = float(forgetting), 0
        self._R: np.ndarray = np.zeros((0, p + 1))
        if start and known is not None:
            finite = np.flatnonzero(np.isfinite(known.std))
            C = known.covariance[np.ix_(finite, finite)]
            root = np.zeros((len(finite), p))
            root[:, finite] = np.linalg.inv(np.linalg.cholesky(C + 1e-14 * np.diag(C.diagonal())))
            self._R = np.concatenate([root, (root @ known.values)[:, None]], axis=1)

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Return the parameters after one sample (n,) or several (m, n), filtered alike, as from `predict`'s."""
        states = [np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, v, a, tau)]
        n = self.model.mechanism.n_v
        if any(x.shape != (len(states[0]), n) for x in states):
            raise ShapeError("q, v, a and tau do not fit each other", remedy=f"Give ({n},) or (m, {n}) each")
        loads = None if self.load is None else self.load[:, None]
        W = self.model.dense(self.model.packed(states[0], states[1], states[2], loads))
        return self.update_rows(W, states[3])

    def update_rows(self, W: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the same from columns (m, n, p) and torques (m, n) that were filtered alike."""
        m = len(W)
        age = np.sqrt(self.forgetting) ** np.arange(m - 1, -1, -1)
        rows = np.concatenate([W, tau[:, :, None]], axis=2) * (age[:, None, None] / self.sigma[:, None])
        before = self.forgetting ** (0.5 * m) * self._R
        self._R = np.asarray(np.linalg.qr(np.concatenate([before, rows.reshape(-1, rows.shape[2])]), mode="r"))
        self.samples += m
        return self.values

    @property
    def values(self) -> np.ndarray:
        """Parameters (p,); those of least norm while samples do not determine them."""
        p = self.model.n_columns
        R, scale = self._scaled()
        return np.linalg.lstsq(R[:p, :p], R[:p, p], rcond=1e-10)[0] / scale

    @property
    def std(self) -> np.ndarray:
        """Standard deviations (p,) for independent torques; infinite while samples do not determine a parameter."""
        p = self.model.n_columns
        R, scale = self._scaled()
        _, s, Vt = np.linalg.svd(R[:p, :p])
        s = np.concatenate([s, np.zeros(p - len(s))])
        good = s > 1e-10 * s.max(initial=0.0)
        std = np.sqrt(((Vt[good].T / s[good]) ** 2).sum(axis=1))
        return np.where((Vt[~good] ** 2).sum(axis=0) > 1e-12, np.inf, std) / scale

    def _scaled(self) -> tuple[np.ndarray, np.ndarray]:
        p = self.model.n_columns
        norms = np.linalg.norm(self._R[:, :p], axis=0) if len(self._R) else np.zeros(p)
        scale = np.where(norms > 0, norms, 1.0)
        return self._R / np.append(scale, 1.0), scale
