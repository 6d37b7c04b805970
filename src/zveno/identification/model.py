"""Linear torque model: base parameters, friction of every joint, and columns of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..algorithms.projection import Division
from ..base_parameters.analyse import base_parameters
from ..base_parameters.drives import COUPLING, couplings
from ..base_parameters.regressor import regressor_columns, states_of
from ..base_parameters.result import BaseParameters
from ..closed_robot import ClosedRobot
from ..errors import ShapeError, ZvenoError
from ..io.results import registered
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..loops.functions import projected_torques
from ..mechanism import Mechanism
from ._friction import TERMS, Element, History, elements_of, mean_curve

TorqueFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Function (q, v, a), each (m, n), → the torques (m, n) of a parameter of 1."""


@registered
@dataclass(frozen=True)
class FrictionColumn:
    """Friction column: a term of an element; `variant` counts the loads that it may be computed with."""

    element: int
    term: str
    variant: int = 0

    @property
    def elastic(self) -> bool:
        """True if it depends on the path to a state."""
        return TERMS[self.term].distance > 0.0


@dataclass(frozen=True, eq=False)
class TorqueModel:
    """Columns of the torques, linear in the parameters.

    Attributes:
        mechanism: with the recorded joints only.
        base: base parameters with rotors and offsets (and couplings).
        kept: base parameters that are columns; friction of coupled motors is among the friction columns instead.
        elements: locations of friction.
        friction: columns of friction.
        scales: (elements,) large velocities of every element.
        own: torque columns of the user, by name.
        closed: functions of a mechanism with closed loops; rows are then those of its independent joints.
    """

    mechanism: Mechanism
    base: BaseParameters
    kept: np.ndarray
    elements: tuple[Element, ...]
    friction: tuple[FrictionColumn, ...]
    scales: np.ndarray
    user_torques: Mapping[str, TorqueFunction]
    closed: ClosedRobot | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # kernels are built where they run

    @property
    def n(self) -> int:
        """Number of torques."""
        return self.mechanism.n_v if self.closed is None else self.closed.n_v

    @property
    def n_inertial(self) -> int:
        """Number of columns of base parameters."""
        return len(self.kept)

    @property
    def n_columns(self) -> int:
        """Number of all columns."""
        return len(self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Symbols of all parameters: base parameters, friction, the user's own."""
        inertial = [self.base.names[k] for k in self.kept]
        friction = [TERMS[c.term].symbol.format(self.elements[c.element].label) for c in self.friction]
        return (*inertial, *friction, *self.user_torques)

    @cached_property
    def weightless(self) -> np.ndarray:
        """True for base parameters that are offsets and no part of the load, (n_inertial,)."""
        first = 10 * len(self.mechanism.joints) + 3 * self.mechanism.n_v
        places = self.base.columns[self.kept]
        return (places >= first) & (places < first + self.mechanism.n_v)

    @cached_property
    def _inertial(self) -> tuple[tuple[np.ndarray, ...], tuple[slice, ...], Kernel]:
        """Columns of base parameters in the row of every coordinate, their places, and a kernel of all these.

        Half of the regressor is zero whatever the state: links before a joint do not load it.
        """
        columns = tuple(self.base.regressor_columns[self.kept].tolist())
        rng, n = np.random.default_rng(0), self.n
        states = states_of(self.mechanism) | {"v": (n,), "a": (n,)}
        division = None if self.closed is None else self.closed.division
        every = tuple(range(n * len(columns)))
        kernel = compiled(regressor_entries, states, constants=(self.mechanism, division, columns, every))
        if self.closed is None:
            q = self.mechanism.neutral() + rng.normal(size=(8, self.mechanism.n_q))
        else:
            q = self.closed.random(8, rng)
        W = np.asarray(kernel(q, rng.normal(size=(8, n)), rng.normal(size=(8, n))))
        used = (W != 0.0).any(axis=0).reshape(n, len(columns))
        kernel = compiled(
            regressor_entries,
            states,
            constants=(self.mechanism, division, columns, tuple(np.flatnonzero(used).tolist())),
        )
        ends = np.cumsum([0, *used.sum(axis=1)])
        slices = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        return tuple(np.flatnonzero(row) for row in used), slices, kernel

    def _load(self, entries: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return torques (m, n_v, variants) of inertia and gravity for load parameters (n_inertial, variants)."""
        heavy = np.where(self.weightless[:, None], 0.0, parameters)
        rows, slices, _ = self._inertial
        torques = [entries[:, place] @ heavy[columns] for columns, place in zip(rows, slices, strict=True)]
        return np.stack(torques, axis=1)

    def load(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return torques (m, n_v) of inertia and gravity for parameters (n_inertial,)."""
        return self._load(np.asarray(self._inertial[2](q, v, a)), parameters[:, None])[:, :, 0]

    def friction_values(
        self, speeds: np.ndarray, load: np.ndarray | None, history: History | None = None
    ) -> np.ndarray:
        """Return every column's curve along its element, (m, friction columns), the mean over k velocities (m, k,
        n).

        Without a history, friction that is elastic before it slides is taken as sliding.
        """
        out = np.empty((len(speeds), len(self.friction)))
        directions = np.array([element.direction for element in self.elements]).reshape(-1, speeds.shape[2])
        along = directions @ speeds.transpose(0, 2, 1)  # (m, elements, k)
        curves = self._curves(along)
        for k, column in enumerate(self.friction):
            e, term = column.element, TERMS[column.term]
            scale = float(self.scales[e])
            if term.distance and history is not None and scale > 0.0:
                out[:, k] = history.strains(e, along[:, e], term.distance * scale)
                continue
            out[:, k] = curves[_shape(column.term)][:, e]
            if term.needs_load:
                carried = 0.0 if load is None else abs(load[:, self.elements[e].coordinate, column.variant])
                out[:, k] *= carried
        return out

    def _curves(self, along: np.ndarray) -> dict[str, np.ndarray]:
        """Return, by shape of friction, its mean (m, elements) over velocities along elements (m, elements, k)."""
        inputs = {"v": (along.shape[2],), "scale": ()}
        return {
            shape: np.asarray(compiled(mean_curve, inputs, constants=(shape,))(along, self.scales))
            for shape in {_shape(column.term) for column in self.friction}
        }

    @cached_property
    def active(self) -> tuple[np.ndarray, ...]:
        """Columns that are not always zero in the row of every velocity coordinate."""
        rows = []
        for j, inertial in enumerate(self._inertial[0]):
            friction = [k for k, c in enumerate(self.friction) if abs(self.elements[c.element].direction[j]) > 0]
            first = self.n_inertial
            of_user = range(first + len(self.friction), self.n_columns)
            rows.append(np.array([*inertial, *(first + k for k in friction), *of_user], dtype=int))
        return tuple(rows)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Slices of every coordinate's columns in a packed row."""
        ends = np.cumsum([0, *map(len, self.active)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @property
    def width(self) -> int:
        """Number of entries in a packed row."""
        return sum(map(len, self.active))

    def packed(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        loads: np.ndarray | None = None,
        speeds: np.ndarray | None = None,
        history: History | None = None,
    ) -> np.ndarray:
        """Return (m, width): the columns of every coordinate that are not always zero, coordinate after coordinate.

        Args:
            q, v, a: (m, n); q is that of all joints, (m, n_q), of a mechanism with closed loops.
            loads: (n_inertial, variants) parameters that predict the load; columns that need it are 0 without.
            speeds: (m, k, n) velocities that friction is the mean over; v itself if not given.
            history: state of elastic friction, where rows follow each other in time.
        """
        rows, slices, kernel = self._inertial
        entries = np.asarray(kernel(q, v, a))
        carried = None if loads is None else self._load(entries, loads)
        F = self.friction_values(v[:, None] if speeds is None else speeds, carried, history)
        columns_of_user = [self._own_torques(name, q, v, a) for name in self.user_torques]
        out = np.empty((len(q), self.width))
        n, m = self.n_inertial, len(self.friction)
        for j, (columns, place) in enumerate(zip(self.active, self.slices, strict=True)):
            inertial = len(rows[j])
            friction = columns[(columns >= n) & (columns < n + m)] - n
            signs = np.array([self.elements[self.friction[k].element].direction[j] for k in friction])
            part = out[:, place]
            part[:, :inertial] = entries[:, slices[j]]
            part[:, inertial : inertial + len(friction)] = F[:, friction] * signs
            for k, torques in enumerate(columns_of_user):
                part[:, inertial + len(friction) + k] = torques[:, j]
        return out

    def dense(self, packed: np.ndarray) -> np.ndarray:
        """Return (m, n_v, n_columns) from packed rows."""
        out = np.zeros((len(packed), len(self.active), self.n_columns))
        for j, (columns, place) in enumerate(zip(self.active, self.slices, strict=True)):
            out[:, j, columns] = packed[:, place]
        return out

    def _own_torques(self, name: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        values = np.asarray(self.user_torques[name](q, v, a), dtype=float)
        if values.shape != v.shape:
            raise ShapeError(
                f"returned shape {values.shape} for {len(q)} states",
                element=f"torque column {name}",
                remedy=f"Return {v.shape}: a torque for every state and joint",
            )
        if not np.isfinite(values).all():
            raise ZvenoError(
                "returned numbers that are not finite",
                element=f"torque column {name}",
                remedy="Return finite numbers for every q, v and a of the log",
            )
        return values

    def with_friction(self, friction: Sequence[FrictionColumn]) -> TorqueModel:
        """Return the same model with other friction columns."""
        return replace(self, friction=tuple(friction))

    def places(self, variant: int = 0, friction: Sequence[FrictionColumn] | None = None) -> np.ndarray:
        """Return the columns of one variant of the load, in the order of the model with one variant.

        Args:
            variant: number of the load.
            friction: the columns wanted (of variant 0); all of them if not given.
        """
        wanted = [c for c in self.friction if c.variant == 0] if friction is None else friction
        number = {c: k for k, c in enumerate(self.friction)}
        chosen = [number[replace(c, variant=variant if TERMS[c.term].needs_load else 0)] for c in wanted]
        n, m = self.n_inertial, len(self.friction)
        of_user = range(n + m, n + m + len(self.user_torques))
        return np.array([*range(n), *(n + k for k in chosen), *of_user], dtype=int)


def regressor_entries(
    mechanism: Mechanism,
    division: Division | None,
    columns: Sequence[int],
    entries: Sequence[int],
    q: Any,
    v: Any,
    a: Any,
) -> np.ndarray:
    """Return some entries of the columns (n, len(columns)) of a regressor, row after row; may be traced."""
    if division is None:
        W = regressor_columns(mechanism, columns, q, v, a)
    else:
        W = projected_torques(mechanism, division, partial(regressor_columns, mechanism, columns, q), q, v, a)
    return W.ravel()[list(entries)]


def _shape(term: str) -> str:
    """Return the basic term with the same velocity curve, without load and history."""
    return "coulomb" if TERMS[term].needs_load or TERMS[term].distance else term


def torque_model(
    mechanism: Mechanism,
    terms: Sequence[str],
    motor_terms: Sequence[str],
    scales: np.ndarray,
    user_torques: Mapping[str, TorqueFunction] | None = None,
    closed: ClosedRobot | None = None,
) -> TorqueModel:
    """Build the model of a mechanism with some terms of friction at every joint and at every coupled motor.

    Args:
        mechanism: with the recorded joints only.
        terms: of every joint.
        motor_terms: of motors that two joints turn.
        scales: (elements,) large velocities.
        own: torque columns of the user.
        closed: functions of a mechanism with closed loops.
    """
    drives = ("rotor", "offset", *((COUPLING,) if couplings(mechanism) else ()))
    q0 = None if closed is None else closed.q
    base = base_parameters(mechanism, drives=drives, q0=q0, exact=False)
    first = 10 * len(mechanism.joints) + 4 * mechanism.n_v + len(couplings(mechanism))
    kept = np.flatnonzero(base.columns < first)
    elements = elements_of(mechanism, closed)
    friction = friction_columns(elements, terms, motor_terms)
    return TorqueModel(mechanism, base, kept, elements, friction, scales, dict(user_torques or {}), closed)


def friction_columns(
    elements: Sequence[Element], terms: Sequence[str], motor_terms: Sequence[str]
) -> tuple[FrictionColumn, ...]:
    """Return the friction columns: some terms at every joint, the others at every coupled motor."""
    chosen = ((e, motor_terms if element.motor else terms) for e, element in enumerate(elements))
    return tuple(FrictionColumn(e, term) for e, terms_of_element in chosen for term in terms_of_element)


def with_variants(model: TorqueModel, variants: int) -> TorqueModel:
    """Return the model with its load columns repeated for each of several loads."""
    columns = list(model.friction)
    for variant in range(1, variants):
        columns += [replace(c, variant=variant) for c in model.friction if TERMS[c.term].needs_load]
    return model.with_friction(columns)
