"""The forward recursion across a node known by samples: joints that share coordinates, and closed loops.

Rows are values at generic states instead of derivatives; otherwise as in `closure`.
"""

from __future__ import annotations

import numpy as np

from .closure import States, condensed, r_factor, states_of
from .motors import Motors
from .samples import Samples
from .views import DOUBLE, SYMMETRIC, WEIGHTS


def advance_sampled(states: States, samples: Samples, motors: Motors | None) -> tuple[list[States], np.ndarray]:
    """The states of every body of a node, and its block (rows, 10 n + drive columns)."""
    recursion = _Sampled(states, samples, motors)
    rows = [recursion.block_rows(s) for s in range(len(samples.T))]
    block = r_factor(np.concatenate(rows) / np.sqrt(len(rows)))
    bodies = []
    for k in range(samples.T.shape[1]):
        found = zip(*(recursion.body_rows(s, k) for s in range(len(samples.T))), strict=True)
        bodies.append(states_of(*(condensed(np.concatenate(part)) for part in found)))
    return bodies, block


class _Sampled:
    """The parent's states as matrices, and the rows they give at one sample."""

    def __init__(self, states: States, samples: Samples, motors: Motors | None):
        self.samples, self.motors = samples, motors
        self.c = (states.c @ DOUBLE).reshape(-1, 4, 4)
        self.b = states.b[:, :16].reshape(-1, 4, 4)
        self.a = (states.a[:, :10] @ DOUBLE).reshape(-1, 4, 4)
        self.p = states.p[:, :4]
        self.constant_b, self.constant_a, self.constant_p = states.b[:, 16:], states.a[:, 10:], states.p[:, 4:]
        self.n_drive = 0 if motors is None else motors.n_columns

    def block_rows(self, s: int) -> np.ndarray:
        """What sample s adds to the node's block."""
        T, dT = self.samples.T, self.samples.dT[s]
        m = len(dT)
        moved = self._moved(s)
        rows = [
            self._row([_symmetric(A.T @ self.c @ A - O.T @ self.c @ O) for A, O in zip(T[s], T[0], strict=True)])
        ]
        for x in range(m):
            rows.append(
                self._row(
                    [_symmetric(A.T @ self.b @ d) for A, d in zip(T[s], dT[x], strict=True)],
                    self._rotor_b(moved, x),
                )
            )
            for y in range(x, m):
                both = [_symmetric(d.T @ self.a @ e) for d, e in zip(dT[x], dT[y], strict=True)]
                rows.append(self._row(both, self._rotor_a(moved, x, y)))
        rows.append(self._potential(s, moved))
        return np.concatenate(rows)

    def body_rows(self, s: int, k: int) -> tuple[np.ndarray, ...]:
        """What sample s adds to the states of body k."""
        A, d = self.samples.T[s, k], self.samples.dT[s, :, k]
        m = len(d)
        c = [_symmetric(A.T @ self.c @ A)]
        b = [_behind((A.T @ self.b @ A).reshape(-1, 16), self.constant_b)]
        for x in range(m):
            c.append(_symmetric(A.T @ self.b @ d[x]))
            c += [_symmetric(d[x].T @ self.a @ d[y]) for y in range(x, m)]
            b.append(_behind((d[x].T @ self.a @ A).reshape(-1, 16), self._moving(s, x)))
        a = _behind(_symmetric(A.T @ self.a @ A), self.constant_a)
        return np.concatenate(c), np.concatenate(b), a, _behind(self.p @ A, self.constant_p)

    def _row(self, bodies: list[np.ndarray], drive: np.ndarray | None = None) -> np.ndarray:
        rows = np.concatenate([x * WEIGHTS for x in bodies], axis=1)
        return _behind(rows, np.zeros((len(rows), self.n_drive)) if drive is None else drive)

    def _potential(self, s: int, moved: np.ndarray) -> np.ndarray:
        """The torques p dT of weight, with those of the offsets."""
        rows = []
        for x, derivatives in enumerate(self.samples.dT[s]):
            bodies = [np.pad(self.p @ d, ((0, 0), (6, 0))) for d in derivatives]
            drive = np.zeros((len(self.p), self.n_drive))
            if self.motors is not None and self.motors.offsets:
                scaled = moved[:, x] * self.motors.offset_scale
                drive[:, len(self.motors.forms) :] = -self.constant_p * scaled
            rows.append(_behind(np.concatenate(bodies, axis=1), drive))
        return np.concatenate(rows)

    def _moved(self, s: int) -> np.ndarray:
        """(n_e, m): driven coordinates for unit independent velocities."""
        if self.motors is None:
            return np.zeros((0, self.samples.dT.shape[1]))
        return self.samples.velocities[s, list(self.motors.place)]

    def _rotor_b(self, moved: np.ndarray, x: int) -> np.ndarray | None:
        if self.motors is None:
            return None
        return self._drive_columns(self.constant_b @ (self.motors.forms @ moved[:, x]).T)

    def _rotor_a(self, moved: np.ndarray, x: int, y: int) -> np.ndarray | None:
        if self.motors is None:
            return None
        return self._drive_columns(self.constant_a * (moved[:, x] @ self.motors.forms @ moved[:, y]))

    def _drive_columns(self, rotors: np.ndarray) -> np.ndarray:
        return np.pad(rotors, ((0, 0), (0, self.n_drive - rotors.shape[1])))

    def _moving(self, s: int, x: int) -> np.ndarray:
        """Constant part of the rows dTᵀaT: that of a, at the coordinates that velocity x moves."""
        if self.motors is None:
            return np.zeros((len(self.a), 0))
        return self.constant_a * self._moved(s)[:, x]


def _symmetric(X: np.ndarray) -> np.ndarray:
    return X.reshape(-1, 16) @ SYMMETRIC


def _behind(rows: np.ndarray, constant: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, constant], axis=1) if constant.shape[1] else rows
