"""Fit problem: the rows of all campaigns with their residuals and derivatives by parameters and unknowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from ...kernels import derivatives
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.program import Program
from ...kernels.trace import call, trace
from .._kinematics import displaced, frame_motion, frame_rates, pose_kernel, relative_motion
from .._loads import holding_torques
from ..models import LETTERS, SIX, Model
from .base import Measurement, Slot
from .datasets import Dataset, sides

CONSTRAINT = -1
"""Noise number of rows that are not readings: known distances between targets."""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """Residuals of campaigns and their derivatives, at given parameters and frames. Make one with `fit_problem`.

    Columns of derivatives: the P parameters of the model, then the displacements of the unknowns. Rows: every
    component that was read, campaign after campaign, then known distances between targets.

    Attributes:
        model, campaigns: the robot model and its measurements.
        parts: the rows of every campaign.
        unknowns: frames that are estimated with the robot.
        frames: all known and unknown frames, (frames, 4, 4); first values of those that are unknown.
        constraints: known distances between targets: (frame, frame, distance, its standard deviation).
        noise_names: campaign, name and unit of every noise.
        noise, component, posture, row: of every scalar row, the number of its noise, its place among the components
            of that noise, its posture and its row of data, (rows,); −1 for known distances.
        n_postures, n_data_rows: postures and rows of data.
    """

    model: Model
    campaigns: tuple[Dataset, ...]
    parts: tuple[Part, ...]
    unknowns: tuple[Unknown, ...]
    frames: np.ndarray
    constraints: tuple[tuple[int, int, float, float], ...]
    noise_names: tuple[tuple[str, str, str], ...]
    noise: np.ndarray
    component: np.ndarray
    posture: np.ndarray
    row: np.ndarray
    n_postures: int
    n_data_rows: int

    def __post_init__(self) -> None:
        self.frames.setflags(write=False)

    # --- shapes and names

    @property
    def n_rows(self) -> int:
        """Number of scalar rows."""
        return len(self.noise)

    @cached_property
    def n_columns(self) -> int:
        """Number of columns: the parameters, and the displacements of the unknowns."""
        return len(self.model.terms) + sum(len(unknown.free) for unknown in self.unknowns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.model.names + tuple(name for unknown in self.unknowns for name in unknown.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of every column."""
        terms = tuple(term.unit for term in self.model.terms)
        return terms + tuple(unit for unknown in self.unknowns for unit in unknown.units)

    @cached_property
    def nominal(self) -> np.ndarray:
        """Deviations of the nominal robot: zeros (P,), read-only."""
        values = np.zeros(len(self.model.terms))
        values.setflags(write=False)
        return values

    def by_row(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Return one value per scalar row, (rows,), from values per data row; `otherwise` for known distances."""
        return np.concatenate([values, [otherwise]])[self.row]

    def by_noise(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Return one value per scalar row, (rows,), from values per noise; `otherwise` for known distances."""
        return np.concatenate([values, [otherwise]])[self.noise]

    def columns_of(self, wanted: bool | None = None) -> list[int]:
        """Return the columns of unknowns: all, only wanted ones, or only nuisance parameters."""
        return [
            unknown.start + k
            for unknown in self.unknowns
            if wanted is None or unknown.wanted == wanted
            for k in range(len(unknown.free))
        ]

    @cached_property
    def unknown_at(self) -> dict[int, Unknown]:
        """Unknowns by frame number."""
        return {unknown.frame: unknown for unknown in self.unknowns}

    @cached_property
    def _displacements(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the frame and of its displacement for every column of the unknowns."""
        pairs = [(unknown.frame, axis) for unknown in self.unknowns for axis in unknown.free]
        frame, axis = np.array(pairs, dtype=int).reshape(-1, 2).T
        return frame, axis

    # --- other first values, other rows

    def placed(self, frames: np.ndarray | Mapping[str, np.ndarray]) -> FitProblem:
        """Return the problem with other initial values: of all frames, (frames, 4, 4), or of unknowns by label."""
        if isinstance(frames, Mapping):
            given, frames = frames, self.frames.copy()
            for unknown in self.unknowns:
                if unknown.label in given:
                    frames[unknown.frame] = given[unknown.label]
        return replace(self, frames=np.array(frames))

    def labelled(self, frames: np.ndarray) -> dict[str, np.ndarray]:
        """Return the frames (4, 4) of the unknowns by label."""
        return {unknown.label: frames[unknown.frame] for unknown in self.unknowns}

    def with_parts(self, parts: Sequence[Part]) -> FitProblem:
        """Return the problem with other postures or readings; the number of values read must be the same."""
        return replace(self, parts=tuple(parts))

    # --- values

    def evaluate(
        self,
        values: np.ndarray,
        frames: np.ndarray,
        columns: Sequence[int] | None = None,
        *,
        q: Sequence[np.ndarray] | None = None,
        compiled: bool = True,
        exact: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (..., M) of all rows and their derivatives (..., M, columns).

        Args:
            values: deviations of the model's parameters, (..., P).
            frames: all known and unknown frames, as `self.frames`, (..., frames, 4, 4).
            columns: which derivatives are wanted, in this order; all if None.
            q: postures of each part, instead of the measured ones.
            compiled: whether the pose comes from a kernel; else from NumPy, for one use.
            exact: whether readings are replaced by predicted ones, so that every residual is zero.
        """
        chosen = np.arange(self.n_columns) if columns is None else np.asarray(columns, dtype=int)
        place = np.full(self.n_columns, -1)
        place[chosen] = np.arange(len(chosen))
        lead = values.shape[:-1]
        r, J = np.zeros((*lead, self.n_rows)), np.zeros((*lead, self.n_rows, len(chosen)))
        start = 0
        for k, part in enumerate(self.parts):
            T, by_values = self.poses(part, values, part.q if q is None else q[k], compiled)
            residual, by_T, *by_slots = self.rows_of(part, T[..., part.posture, :, :], frames, exact)
            end = start + part.n_known
            r[..., start:end] = residual[..., part.known]
            if len(chosen):
                full = self._slopes(part, by_T, by_values, by_slots, chosen, place)
                every = part.n_known == part.known.size
                J[..., start:end, :] = full.reshape(*lead, -1, len(chosen)) if every else full[..., part.known, :]
            start = end
        if self.constraints:
            self._constrain(r[..., start:], J[..., start:, :], frames, place)
        return r, J

    def poses(
        self, part: Part, values: np.ndarray, q: np.ndarray, compiled: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return T (..., n, 4, 4) and J (..., n, 6, P) of a part's frame in every posture."""
        motion = self._motion(part.frame, values, q, part, compiled)
        if not part.seen_from:
            return motion
        return relative_motion(*self._motion(part.seen_from, values, q, part, compiled), *motion)

    def _motion(self, frame: str, values, q, part: Part, compiled: bool) -> tuple[np.ndarray, np.ndarray]:
        if self.model.mechanism.loops:
            return frame_motion(self.model, frame, q, values[..., None, :], part.tau, part.side)
        if compiled:
            return pose_kernel(self.model, frame)(q, values[..., None, :], part.tau, part.side)
        return frame_motion(self.model, frame, q, values, part.tau, part.side)

    def rows_of(self, part: Part, T: np.ndarray, frames: np.ndarray, exact: bool = False) -> tuple[np.ndarray, ...]:
        """Return residuals (..., rows, m) of a part, and derivatives by displacements of T (..., rows, 4, 4), L, R
        and X, (..., rows, m, 6), and by the constants of the instrument.

        Args:
            part, T: the rows, and the pose of the measured frame in each.
            frames: as of `evaluate`.
            exact: whether readings are replaced by predicted ones.
        """
        kind = part.measurement
        slots = [frames[..., slot, :, :] for slot in (part.left, part.right, part.target)]
        numbers = instrument_numbers(part, frames)
        y = part.y
        if exact and not kind.implicit:
            y = kind.reading(slots[0] @ T @ slots[1], slots[2], *numbers)
        return residual_kernel(type(kind))(T, *slots, y, *numbers)

    def by_joints(self, part: Part, values: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return derivatives (n, 6, n_v) of a part's frame by joint velocities; arguments as for `poses`."""
        motion = frame_rates(self.model, part.frame, q, values, part.tau, part.side)
        if not part.seen_from:
            return motion[1]
        before = frame_rates(self.model, part.seen_from, q, values, part.tau, part.side)
        return relative_motion(*before, *motion)[1]

    def moved(self, frames: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the frames after a step (..., columns) of the unknowns."""
        d = np.zeros((*step.shape[:-1], len(self.frames), 6))
        d[(..., *self._displacements)] = step[..., len(self.model.terms) :]
        return displaced(frames, d)

    def _slopes(self, part: Part, by_T, by_values, by_slots, chosen: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return derivatives (..., rows, m, columns) of a part by parameters and unknowns."""
        shape = by_T.shape[:-1]
        of_model = chosen < len(self.model.terms)
        # The rows of a posture follow each other: one product a posture.
        product = by_T.reshape(*by_values.shape[:-2], -1, 6) @ by_values.take(chosen[of_model], axis=-1)
        product = product.reshape(*shape, product.shape[-1])
        if of_model.all():
            return product
        full = np.zeros((*shape, len(chosen)))
        n = product.shape[-1]
        full[..., slice(n) if of_model[:n].all() else of_model] = product
        for number, column in part.number_columns:
            if place[column] >= 0:
                full[..., place[column]] += by_slots[3][..., number]
        for scattered, slope in zip(part.scattered, by_slots[:3], strict=True):
            if scattered is not None:
                rows, columns, free = scattered
                at = place[columns]
                seen = at >= 0
                if isinstance(rows, slice):
                    full[..., at[seen]] += slope[..., free[seen]]
                else:
                    full[..., rows[seen], :, at[seen]] += slope[..., rows[seen], :, free[seen]]
        return full

    def _constrain(self, r: np.ndarray, J: np.ndarray, frames: np.ndarray, place: np.ndarray):
        """Fill in residuals and derivatives of known distances between points."""
        ends = np.array([(a, b) for a, b, *_ in self.constraints])
        points = frames[..., :3, 3]
        d = points[..., ends[:, 0], :] - points[..., ends[:, 1], :]
        length = np.linalg.norm(d, axis=-1)
        r[...] = length - [distance for *_, distance, _ in self.constraints]
        for frame, sign in zip(ends.T, (1.0, -1.0), strict=True):
            starts = [self.unknown_at[k].start for k in frame]
            at = place[np.array(starts)[:, None] + np.arange(3)]
            slope = np.einsum("...i,...ij->...j", sign * d / length[..., None], frames[..., frame, :3, :3])
            rows, axes = np.nonzero(at >= 0)
            J[..., rows, at[rows, axes]] = slope[..., rows, axes]


@dataclass(frozen=True, eq=False)
class Unknown:
    """Frame that is estimated with the robot, by some of its six displacements."""

    label: str
    frame: int
    """Frame number."""
    free: tuple[int, ...]
    start: int
    """Column of its first displacement."""
    wanted: bool
    given: bool
    """True if its value is more than a placeholder."""
    numbers: tuple[str, ...] = ()
    """Names of the numbers that its translation holds, if it is not a place."""
    number_units: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its displacements: `tracker.Tx`; or of numbers: `bar.length`."""
        if self.numbers:
            return tuple(self.numbers[k] for k in self.free)
        return tuple(f"{self.label}.{SIX[k][0]}{LETTERS[SIX[k][1]]}" for k in self.free)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each displacement."""
        if self.numbers:
            return tuple(self.number_units[k] for k in self.free)
        return tuple("m" if k < 3 else "rad" for k in self.free)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one campaign; a row is one thing seen in one posture."""

    measurement: Measurement
    frame: str
    q: np.ndarray
    tau: np.ndarray
    side: np.ndarray
    """Sign of every joint's last motion, (postures, n_v); 0 where it is not known."""
    posture: np.ndarray
    left: np.ndarray
    right: np.ndarray
    target: np.ndarray
    y: np.ndarray
    known: np.ndarray
    """Components that were read, (rows, m) booleans."""
    first_noise: int
    first_posture: int
    line: np.ndarray
    """Row number in the original campaign, from 1, (rows,)."""
    scattered: tuple[tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None, ...] = ()
    """Rows, columns and displacements by which frames are unknown, for L, R and X; all rows are a slice."""
    seen_from: str = ""
    """Frame of the robot that takes the place of the world; empty: the world."""
    numbers: tuple[int, ...] = ()
    """Frames that hold the constants of the instrument."""
    number_columns: tuple[tuple[int, int], ...] = ()
    """(constant, column) of those that are unknown."""

    @cached_property
    def n_known(self) -> int:
        """Number of components that were read."""
        return int(self.known.sum())


def instrument_numbers(part: Part, frames: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the constants c (..., rows, n_numbers) of a part's instrument; an empty tuple if it has none."""
    if not part.numbers:
        return ()
    c = frames[..., :3, 3][..., list(part.numbers), :]
    c = c.reshape(*c.shape[:-2], -1)[..., : part.measurement.n_numbers]
    return (np.repeat(c[..., None, :], len(part.left), axis=-2),)


def fit_problem(model: Model, campaigns: Sequence[Dataset]) -> FitProblem:
    """Assemble the rows of prepared campaigns into one problem.

    Args:
        model: the model that explains them.
        campaigns: with checked arrays; a label of an unknown frame means the same frame in all of them.
    """
    assembly = _Assembly(model)
    for campaign in campaigns:
        assembly.add(campaign)
    return assembly.made()


class _Assembly:
    """Collector of frames, unknowns and rows."""

    def __init__(self, model: Model):
        self.model = model
        self.campaigns: list[Dataset] = []
        self.parts: list[Part] = []
        self.unknowns: list[Unknown] = []
        self.frames: list[np.ndarray] = []
        self.constraints: list[tuple[int, int, float, float]] = []
        self.noise_names: list[tuple[str, str, str]] = []
        self.n_postures = 0
        self._numbers: dict[str, int] = {}
        self._width = len(model.terms)

    def add(self, campaign: Dataset) -> None:
        """Add the rows of one more campaign."""
        self.parts.append(self._part(campaign))
        self.campaigns.append(campaign)
        self.n_postures += len(campaign)

    def made(self) -> FitProblem:
        """Build the problem; every scalar row refers to its noise, posture and data row."""
        noise, component, posture, row, rows = [], [], [], [], 0
        for part in self.parts:
            n, m = part.known.shape
            numbers, places = np.empty(m, dtype=int), np.arange(m)
            for k, group in enumerate(part.measurement.noises):
                numbers[group.rows] = part.first_noise + k
                places[group.rows] -= group.rows.start
            noise.append(np.tile(numbers, (n, 1))[part.known])
            component.append(np.tile(places, (n, 1))[part.known])
            posture.append(np.repeat(part.first_posture + part.posture, m).reshape(n, m)[part.known])
            row.append(np.repeat(rows + np.arange(n), m).reshape(n, m)[part.known])
            rows += n
        none = np.full(len(self.constraints), CONSTRAINT)
        return FitProblem(
            self.model,
            tuple(self.campaigns),
            tuple(self.parts),
            tuple(self.unknowns),
            np.array(self.frames),
            tuple(self.constraints),
            tuple(self.noise_names),
            np.concatenate([*noise, none]),
            np.concatenate([*component, none]),
            np.concatenate([*posture, none]),
            np.concatenate([*row, none]),
            self.n_postures,
            rows,
        )

    def _part(self, campaign: Dataset) -> Part:
        kind = campaign.measurement
        n = len(campaign.q)
        left = np.full(n, self._slot(kind.left))
        rights = [self._slot(slot) for slot in kind.right]
        if kind.grouped is not None:
            by_group = {group: self._slot(kind.target_of(group)) for group in dict.fromkeys(campaign.groups)}
            targets = np.array([[by_group[group]] for group in campaign.groups])
            for a, b, distance, sigma in kind.constraints(list(campaign.groups)):
                self.constraints.append((by_group[a], by_group[b], distance, sigma))
        else:
            targets = np.tile([self._slot(slot) for slot in kind.targets], (n, 1))
        things = len(rights) * targets.shape[1]
        posture = np.repeat(np.arange(n), things)
        right = np.tile(np.repeat(rights, targets.shape[1]), n)
        target = np.repeat(targets[:, None], len(rights), axis=1).ravel()
        y = campaign.y.reshape(n * things, kind.n_data)
        known = np.ones((n * things, kind.n_rows), dtype=bool)
        missing = ~np.isfinite(y)
        for noise in kind.noises:
            if noise.numbers is None:
                known[:, noise.rows] = ~missing[:, noise.rows]
            else:
                known[:, noise.rows] = ~missing[:, noise.numbers].any(axis=1, keepdims=True)
        first_noise = len(self.noise_names)
        self.noise_names += [(campaign.name, noise.name, noise.unit) for noise in kind.noises]
        frame = self.model.mechanism.frame(kind.frame).name
        seen_from = "" if kind.seen_from is None else self.model.mechanism.frame(kind.seen_from).name
        numbers = tuple(map(self._slot, kind.number_slots()))
        columns = tuple(
            (3 * k + axis, unknown.start + place)
            for k, number in enumerate(numbers)
            for unknown in self.unknowns
            if unknown.frame == number
            for place, axis in enumerate(unknown.free)
        )
        filled = kind.filled(y, missing)
        slots = (left[posture], right, target)
        return Part(
            kind,
            frame,
            campaign.q,
            holding_torques(self.model, campaign.q),
            sides(self.model.mechanism, campaign.approach, n),
            posture,
            *slots,
            filled,
            known,
            first_noise,
            self.n_postures,
            campaign.lines[posture],
            tuple(map(self._scattered, slots)),
            seen_from,
            numbers,
            columns,
        )

    def _slot(self, slot: Slot) -> int:
        """Return the number of a slot's frame; unknowns with the same label share a frame."""
        if slot.free and slot.label in self._numbers:
            return self._numbers[slot.label]
        number = len(self.frames)
        self.frames.append(np.eye(4) if slot.value is None else slot.value)
        if slot.free:
            self._numbers[slot.label] = number
            given = slot.value is not None
            described = slot.label, number, slot.free, self._width, slot.wanted, given, slot.names, slot.units
            self.unknowns.append(Unknown(*described))
            self._width += len(slot.free)
        return number

    def _scattered(self, slot: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None:
        """Return rows, columns and displacements by which the frames of a slot (rows,) are unknown."""
        pieces = []
        for unknown in self.unknowns:
            rows = np.flatnonzero(slot == unknown.frame)
            columns, free = unknown.start + np.arange(len(unknown.free)), np.array(unknown.free)
            if len(rows) == len(slot):
                return slice(None), columns, free
            if len(rows):
                pieces.append((np.repeat(rows, len(free)), np.tile(columns, len(rows)), np.tile(free, len(rows))))
        if not pieces:
            return None
        rows, columns, free = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        return rows, columns, free


FRAMES = dict.fromkeys("TLRX", (4, 4))
_TWISTS = {f"d{name}": (6,) for name in FRAMES}


def residual_kernel(kind: type[Measurement]) -> Kernel:
    """Build the kernel (T, L, R, X, y) → residual (m,) and its derivatives (m, 6) by body twists of T, L, R and X.

    Kinds whose instrument has constants take them, c (n_numbers,), last, and have derivatives by them, too.

    Args:
        kind: a class of measurement with `residual(P, X, y)` of the product P = L T R. One kernel serves all
            robots.
    """
    outputs = ("r", *(f"by_{name}" for name in FRAMES), *(["by_c"] if kind.n_numbers else []))
    inputs = FRAMES | _read(kind)
    return compiled(
        residual_and_slopes, inputs, constants=(kind,), name=f"residual_{kind.__name__}", outputs=outputs
    )


def residual_and_slopes(
    kind: type[Measurement],
    T: np.ndarray,
    L: np.ndarray,
    R: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    c: np.ndarray | None = None,
) -> tuple[np.ndarray, ...]:
    """Compute the outputs of `residual_kernel` for one row."""
    numbers = () if c is None else (c,)
    return call(_displaced(kind), T, L, R, X, y, *numbers, *[np.zeros(6)] * len(_TWISTS))


def _read(kind: type[Measurement]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the inputs that are not frames."""
    return {"y": (kind.n_data,)} | ({"c": (kind.n_numbers,)} if kind.n_numbers else {})


@cache
def _displaced(kind: type[Measurement]) -> Program:
    def residual(T, L, R, X, y, *rest):
        *c, dT, dL, dR, dX = rest
        product = L @ _near_one(dL) @ T @ _near_one(dT) @ R @ _near_one(dR)
        return kind.residual(product, X @ _near_one(dX), y, *c)

    inputs = FRAMES | _read(kind) | _TWISTS
    wrt = (*_TWISTS, "c") if kind.n_numbers else tuple(_TWISTS)
    return derivatives.jacobian(trace(residual, inputs, outputs=("r",)), wrt=wrt, values=True)


def _near_one(d):
    """Return 1 + d^: a displacement by a small body twist, right to first order."""
    return np.array(
        [
            [1.0, -d[5], d[4], d[0]],
            [d[5], 1.0, -d[3], d[1]],
            [-d[4], d[3], 1.0, d[2]],
            [0.0, 0.0, 0.0, 1.0],
        ],
        dtype=object,
    )
