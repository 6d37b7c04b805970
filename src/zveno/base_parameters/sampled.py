"""The forward recursion across a node known by samples: joints that share coordinates, and closed loops.

Rows are values at generic states instead of derivatives; otherwise as in `closure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .arithmetic import Arithmetic, Matrix, Pose
from .closure import States
from .motors import Motors


class Sample(NamedTuple):
    """Poses of a node's bodies in its parent's frame at one state, and their derivatives by its coordinates."""

    T: Sequence[Pose]
    dT: Sequence[Sequence[Pose]]
    """[coordinate][body]"""
    rates: np.ndarray | None = None
    """(n_e, m) driven velocities for each of the m independent ones; None without drives."""


def advance_sampled(
    K: Arithmetic, states: States, samples: Sequence[Sample], motors: Motors | None
) -> tuple[list[States], Matrix]:
    """The states of every body of a node, and its block (rows, 10 n + drive columns)."""
    node = _SampledNode(K, states, motors)
    first = [node.square(T) for T in samples[0].T]
    blocks, bodies = [node.empty(len(first))], [([], [], [], []) for _ in first]
    for sample in samples:
        squares = [node.square(T) for T in sample.T]
        rows = [node.wide([square - start for square, start in zip(squares, first, strict=True)])]
        for x, slopes in enumerate(sample.dT):
            rates = [node.rate(T, d) for T, d in zip(sample.T, slopes, strict=True)]
            rows += [node.wide(rates, node.pairs(sample, x)), node.weight(sample, x)]
            for y in range(x, len(sample.dT)):
                both = [node.both(d, e) for d, e in zip(slopes, sample.dT[y], strict=True)]
                rows.append(node.wide(both, node.squares(sample, x, y)))
                _append(bodies, 0, both)
            _append(bodies, 0, rates)
            _append(bodies, 1, [node.moving(d, T, sample, x) for T, d in zip(sample.T, slopes, strict=True)])
        _append(bodies, 0, squares)
        for kind in (1, 2, 3):
            _append(bodies, kind, [node.carried(kind, T) for T in sample.T])
        blocks += [part for part in rows if len(part)]
    advanced = [States(*(K.state(kind, *rows) for kind, rows in enumerate(spaces))) for spaces in bodies]
    return advanced, K.averaged(blocks, len(samples))


def _append(bodies: Sequence[tuple[list, ...]], kind: int, rows: Sequence[Matrix]):
    for spaces, part in zip(bodies, rows, strict=True):
        spaces[kind].append(part)


class _SampledNode:
    """The parent's states, and the rows they give at one sample."""

    def __init__(self, K: Arithmetic, states: States, motors: Motors | None):
        self.K, self.motors, self.states = K, motors, states
        self.c = states.c @ K.double
        self.b, self.a, self.p = states.b[:, :16], states.a[:, :10] @ K.double, states.p[:, :4]
        self.n_drive = 0 if motors is None else motors.n_columns

    def square(self, T: Pose) -> Matrix:
        """TᵀcT."""
        return self.c @ self.K.kron(T, T) @ self.K.symmetric

    def rate(self, T: Pose, d: Pose) -> Matrix:
        """TᵀbT,x."""
        return self.b @ self.K.kron(T, d) @ self.K.symmetric

    def both(self, d: Pose, e: Pose) -> Matrix:
        """T,xᵀaT,y."""
        return self.a @ self.K.kron(d, e) @ self.K.symmetric

    def moving(self, d: Pose, T: Pose, sample: Sample, x: int) -> Matrix:
        """T,xᵀaT, with the constant part of a at the coordinates that velocity x moves."""
        rows = self.a @ self.K.kron(d, T)
        if self.motors is None or sample.rates is None:
            return rows
        constant = self.states.a[:, 10:] @ self.K.matrix(sample.rates[:, x][None], len(self.motors.place))
        return self.K.beside(rows, constant)

    def carried(self, kind: int, T: Pose) -> Matrix:
        """The state itself, b, a or p, moved with the body."""
        K, rows = self.K, self.states[kind]
        width = (10, 16, 10, 4)[kind]
        if kind == 3:
            carried = self.p @ K.four(T)
        else:
            carried = self.b @ K.kron(T, T) if kind == 1 else self.a @ K.kron(T, T) @ K.symmetric
        return carried if rows.shape[1] == width else K.beside(carried, rows[:, width:])

    def wide(self, bodies: Sequence[Matrix], drive: Matrix | None = None) -> Matrix:
        """Rows over the parameters of all bodies and the drives."""
        K = self.K
        parts = [part @ K.weights for part in bodies]
        if self.n_drive:
            rest = K.matrix([[0] * self.n_drive] * len(parts[0]), self.n_drive) if drive is None else drive
            parts.append(rest)
        return K.beside(*parts)

    def weight(self, sample: Sample, x: int) -> Matrix:
        """The torques p T,x of weight, with those of the offsets."""
        K = self.K
        parts = [self.p @ K.four(d) @ K.moments for d in sample.dT[x]]
        if self.motors is not None and sample.rates is not None:
            columns = np.zeros((1, self.n_drive))
            if self.motors.offsets:
                columns[0, len(self.motors.forms) :] = -sample.rates[:, x] * self.motors.offset_scale
            parts.append(self.states.p[:, 4:] @ K.matrix(columns, self.n_drive))
        return K.beside(*parts)

    def pairs(self, sample: Sample, x: int) -> Matrix | None:
        """What motors add to the rows TᵀbT,x."""
        if self.motors is None or sample.rates is None:
            return None
        return self.states.b[:, 16:] @ self._columns((self.motors.forms @ sample.rates[:, x]).T)

    def squares(self, sample: Sample, x: int, y: int) -> Matrix | None:
        """What motors add to the rows T,xᵀaT,y."""
        if self.motors is None or sample.rates is None:
            return None
        forms = sample.rates[:, x] @ self.motors.forms @ sample.rates[:, y]
        return self.states.a[:, 10:] @ self._columns(forms[None])

    def _columns(self, rotors: np.ndarray) -> Matrix:
        return self.K.matrix(np.pad(rotors, ((0, 0), (0, self.n_drive - rotors.shape[1]))), self.n_drive)

    def empty(self, bodies: int) -> Matrix:
        """No rows of the block."""
        return self.K.matrix([], 10 * bodies + self.n_drive)
