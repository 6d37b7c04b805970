"""Result of a simulation: motion, forces, and checks of the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import MissingExtraError, ModelError, ShapeError, ZvenoError, unknown_name
from ..io.arrays import read_npz
from ..io.files import replacing
from ..io.results import decode, encode, hash_of, rebuilt, registered
from ..mechanism import Mechanism
from ..mechanism.units import with_unit
from ..report.description import Description
from ..report.result import Result
from ._statuses import SAME_TIME, EventStops, RunStatus, ends_in_words

# --- trajectory


@registered
@dataclass(frozen=True)
class EventRecord:
    """User event that happened at a time."""

    t: float
    name: str
    state: tuple[int, ...] = ()
    """index of the run in a batch"""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """Simulated motion: n samples, with batch axes before the time axis.

    Attributes:
        robot_name: name of the robot.
        coordinate_names, joint_names: order of q, and joints in the order of v.
        coordinate_units, velocity_units: "rad", "m" or "" (quaternions) of q; "rad" or "m" of v, per second.
        t: (n,), s.
        q, v, a: (..., n, n_q), (..., n, n_v), (..., n, n_v).
        tau: torques of controller and drives, (..., n, n_v), without friction and reactions.
        drive_states: of the drives, SI units, (..., n, n_z): torques of drives with lag, pressures, spools.
        drive_state_names, drive_state_units: (n_z,), "knee.pressure_a" and "Pa".
        reactions: of the rows of constraints and contacts, (..., n, m). They act on the first frame; the axes are
            those its class describes.
        reaction_names: (m,).
        kinetic, potential: energy, J, (..., n).
        work: done on the robot since the start by control, friction, moving constraints and contacts, J, (..., n).
        violation, violation_rate: largest |φ| and |φ̇| of the constraints, (..., n).
        residual, sweeps: of time stepping, (..., n): the largest change of a contact force in the last sweep of a
            step, N, and the largest number of sweeps, of the steps since the sample before; None otherwise.
        events: in the order of time; of a batch, each with its run.
        status: "finished"; "undecided", the run passes a singular state of its constraints behind which motions
            branch, or its contact forces did not settle; "stopped" by an event or by constraints that contradict
            one another; "diverged"; "energy error", more than a tenth of the energy exchanged was lost or made. Of
            a batch, an array (...,) of these. Samples computed before an early end are kept.
        reason: cause and time of the status, (...,) of a batch.
        stops: ends of runs of a batch at terminal events, None if there are none. Such a run has NaN after its end;
            `run` returns a single run, with its last sample at the event.
        faults: of a batch, control outputs that are not finite; they end their run.
        exchanged: energy exchanged, J, (...,), over all steps if the samples alone are too coarse; else None.
        moved: distance of the initial state from the constraints, rad or m.
        notes: redundant constraints and the like.
        method: integrator and its settings.
        n_steps, n_evaluations: steps taken, and evaluations of the equations.
        inputs_hash: of the robot and the initial state.
        mechanism: the robot.
    """

    robot_name: str
    coordinate_names: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    joint_names: tuple[str, ...]
    velocity_units: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    reactions: np.ndarray
    reaction_names: tuple[str, ...]
    kinetic: np.ndarray
    potential: np.ndarray
    work: np.ndarray
    violation: np.ndarray
    violation_rate: np.ndarray
    events: tuple[EventRecord, ...] = ()
    status: RunStatus | np.ndarray = "finished"
    reason: str | np.ndarray = ""
    moved: float = 0.0
    notes: tuple[str, ...] = ()
    method: str = ""
    n_steps: int = 0
    n_evaluations: int = 0
    inputs_hash: str = ""
    mechanism: Mechanism | None = None
    residual: np.ndarray | None = None
    sweeps: np.ndarray | None = None
    drive_states: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    drive_state_names: tuple[str, ...] = ()
    drive_state_units: tuple[str, ...] = ()
    stops: EventStops | None = None
    faults: tuple[EventRecord, ...] = ()
    exchanged: np.ndarray | None = None

    kind: ClassVar[str] = "trajectory"

    @property
    def finished(self) -> bool:
        """True if the run, or every run of a batch, reached its end."""
        return bool(np.isin(np.asarray(self.status, dtype=str), ("finished", "undecided")).all())

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy, J, (..., n)."""
        return self.kinetic + self.potential

    @property
    def energy_error(self) -> np.ndarray:
        """Energy less the initial energy and the work done since, J, (..., n): zero for an exact integrator."""
        return self.energy - self.energy[..., :1] - self.work

    @property
    def energy_drift(self) -> float:
        """Largest |energy_error| over the run (and the batch), J."""
        error = abs(self.energy_error)
        if self.stops is not None:
            before = self.energy[..., 0][tuple(self.stops.runs.T)]
            error = np.append(error, abs(self.stops.kinetic + self.stops.potential - before - self.stops.work))
        return float(np.nanmax(error)) if error.size and not np.isnan(error).all() else float("nan")

    @property
    def max_violation(self) -> float:
        """Largest violation of the constraints, m or rad."""
        violation = self.violation if self.stops is None else np.append(self.violation, self.stops.violation)
        return float(np.nan_to_num(violation, nan=0.0).max(initial=0.0))

    # --- runs of a batch

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch; () for one run."""
        return self.q.shape[:-2]

    @property
    def n_samples(self) -> np.ndarray:
        """Number of samples of every run, (...,); the others are NaN."""
        return np.isfinite(self.q).all(axis=-1).sum(axis=-1)

    @property
    def t_end(self) -> np.ndarray:
        """End time of every run, s, (...,): its event, its last sample if it diverged, else the batch's end."""
        return _last_samples(self, "t")

    @property
    def q_end(self) -> np.ndarray:
        """q at the end of every run, (..., n_q)."""
        return _last_samples(self, "q")

    @property
    def v_end(self) -> np.ndarray:
        """v at the end of every run, (..., n_v)."""
        return _last_samples(self, "v")

    def run(self, *index: int) -> Trajectory:
        """Return one run of a batch, by one index per batch axis, as `simulate` returns it for its state alone.

        A run that an event stopped ends there. Notes, `moved` and `n_evaluations` are those of the batch.
        """
        return _run_of(self, index)

    def reaction(self, name: str) -> np.ndarray:
        """Return the reactions of one constraint by its label, (..., n, rows)."""
        rows = [k for k, row in enumerate(self.reaction_names) if row == name or row.startswith(f"{name}[")]
        if not rows:
            raise unknown_name("constraint", name, sorted({row.split("[")[0] for row in self.reaction_names}))
        return self.reactions[..., rows]

    def drive_state(self, name: str) -> np.ndarray:
        """Return one drive state by its name, "knee.pressure_a", (..., n)."""
        if name not in self.drive_state_names:
            raise unknown_name("state of a drive", name, self.drive_state_names)
        return self.drive_states[..., self.drive_state_names.index(name)]

    @property
    def summary(self) -> str:
        """Summary in one sentence: robot, end of the run, and checks."""
        many = f"{int(np.prod(self.batch))} runs of " if self.batch else ""
        end = self.t[-1] if self.stops is None else max(self.t[-1], self.stops.t.max())
        text = (
            f"{many}{self.robot_name} over {end - self.t[0]:.6g} s by {self.method}: {ends_in_words(self)}; "
            f"energy error {self.energy_drift:.3g} J"
        )
        if self.reaction_names:
            text += f", constraints held to {self.max_violation:.3g}"
        if self.residual is not None and self.sweeps is not None and self.reaction_names:
            worst, sweeps = (
                float(np.nan_to_num(x, nan=0.0).max(initial=0.0)) for x in (self.residual, self.sweeps)
            )
            text += f", forces settled to {worst:.2g} N in at most {sweeps:.0f} sweeps"
        if self.moved > 0:
            text += f", start moved by {self.moved:.3g} onto the constraints"
        return "; ".join((text, *self.notes))

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_trajectory

        return describe_trajectory(self)

    # --- files

    def save(self, path: str | os.PathLike[str], *, degrees: bool = False) -> Path:
        """Write by suffix: .npz and .json hold everything, .csv and .parquet one row per sample.

        Tables hold a single run: t, q, v, a, tau, reactions, energies and violation, each column with its unit;
        angles in degrees if requested.
        """
        path = Path(path)
        match path.suffix.lower():
            case ".npz":
                return self._save_npz(path)
            case ".csv":
                return self._save_csv(path, degrees)
            case ".parquet":
                return self._save_parquet(path, degrees)
            case ".json" | "":
                return super().save(path)
        raise ZvenoError(
            f"trajectories are not written as {path.suffix}", file=path, remedy="Use .npz, .json, .csv or .parquet"
        )

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trajectory:
        """Load a trajectory from a .npz file written by `save` (.json files: `zveno.load_result`)."""
        data = read_npz(path)
        try:
            run = rebuilt(
                Trajectory, {name: _from_npz(data, name) for name in _FIELDS if name in data or name not in _NEWER}
            )
            repr(run)  # fails where shapes do not fit each other
            return run
        except ZvenoError as error:
            raise error.located(file=path) from None
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            raise ModelError(
                f"is not a trajectory: {error}", file=path, remedy="Give a file from .save()"
            ) from error

    def columns(self, degrees: bool = False) -> dict[str, np.ndarray]:
        """Return the columns of a single run, (n,) each, by name and unit: `q.joint1 (rad)`."""
        if self.q.ndim != 2:
            raise ZvenoError(
                f"a table holds one run, and this is a batch of shape {self.batch}",
                remedy="Use .npz, or save one of its runs: .run(0).save(…)",
            )
        names = _velocity_names(self.joint_names, self.v.shape[-1])
        table: dict[str, np.ndarray] = {"t (s)": self.t}

        def add(key: str, names: Sequence[str], units: Sequence[str], per: str = "") -> None:
            for k, (name, unit) in enumerate(zip(names, units, strict=True)):
                turned = degrees and unit == "rad"
                shown = ("deg" if turned else unit) + per if unit else ""
                values = getattr(self, key)[:, k]
                table[with_unit(f"{key}.{name}", shown)] = np.degrees(values) if turned else values

        add("q", self.coordinate_names, self.coordinate_units)
        add("v", names, self.velocity_units, "/s")
        add("a", names, self.velocity_units, "/s^2")
        add("tau", names, ["N*m" if unit == "rad" else "N" for unit in self.velocity_units])
        states = zip(self.drive_state_names, self.drive_state_units, strict=True)
        table |= {with_unit(name, unit): self.drive_states[:, k] for k, (name, unit) in enumerate(states)}
        table |= {f"reaction.{name} (N or N*m)": self.reactions[:, k] for k, name in enumerate(self.reaction_names)}
        table |= {f"{key} (J)": getattr(self, key) for key in ("kinetic", "potential", "work")}
        return table | {"violation (m or rad)": self.violation, "violation_rate (1/s)": self.violation_rate}

    def _save_npz(self, path: Path) -> Path:
        import json

        arrays: dict[str, Any] = {}
        for name in _FIELDS:
            value = getattr(self, name)
            kept = isinstance(value, np.ndarray) and value.dtype.kind not in "OU"
            arrays[name] = value if kept else np.array(json.dumps(encode(value)))
        with replacing(path) as temporary:
            np.savez(temporary, **arrays)
        return path

    def _save_csv(self, path: Path, degrees: bool) -> Path:
        table = self.columns(degrees)
        header = ",".join(f'"{name}"' if "," in name else name for name in table)
        with replacing(path) as temporary:
            np.savetxt(temporary, np.stack(list(table.values()), axis=1), "%.17g", ",", header=header, comments="")
        return path

    def _save_parquet(self, path: Path, degrees: bool) -> Path:
        table = self.columns(degrees)
        try:
            import polars  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MissingExtraError(
                "writing Parquet needs polars", file=path, remedy="pip install 'zveno[identify]', or save as .csv"
            ) from None
        with replacing(path) as temporary:
            polars.DataFrame(table).write_parquet(temporary)
        return path


_FIELDS = tuple(item.name for item in fields(Trajectory))
_NEWER = ("drive_states", "drive_state_names", "drive_state_units", "stops", "faults", "exchanged", "reason")
"""Fields that are missing from files of earlier versions."""


def _from_npz(data, name: str):
    import json

    array = data[name]
    return decode(json.loads(str(array))) if array.dtype.kind == "U" else array


def _velocity_names(joint_names: tuple[str, ...], n_v: int) -> tuple[str, ...]:
    return joint_names if len(joint_names) == n_v else tuple(str(k) for k in range(n_v))


# --- runs of a batch

PER_RUN = (
    "q",
    "v",
    "a",
    "tau",
    "drive_states",
    "reactions",
    "kinetic",
    "potential",
    "work",
    "violation",
    "violation_rate",
)
"""Trajectory fields with batch axes."""
OF_TIME_STEPPING = ("residual", "sweeps")
"""Fields that only time stepping fills."""


def _run_of(batch: Trajectory, number: tuple[int, ...]) -> Trajectory:
    """Return one run of a batch, see `Trajectory.run`."""
    shape = batch.q.shape[:-2]
    whole = all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in number)
    if not whole or len(number) != len(shape) or any(not -n <= k < n for k, n in zip(number, shape, strict=True)):
        runs = f"the batch of runs is {shape}" if shape else "there is one run, without a number"
        raise ShapeError(f"{runs}; asked for {number}", element="run", remedy="Give one number an axis of it")
    if not shape:
        return batch
    where = tuple(int(k) % n for k, n in zip(number, shape, strict=True))
    fields = [*PER_RUN, *(name for name in OF_TIME_STEPPING if getattr(batch, name) is not None)]
    n = int(np.isfinite(batch.q[where]).all(axis=-1).sum())
    rows = {name: getattr(batch, name)[where][:n] for name in fields if getattr(batch, name).ndim > len(shape)}
    t, n_steps = batch.t[:n], batch.n_steps
    stop = None if batch.stops is None else batch.stops.of(where)
    if batch.stops is not None and stop is not None:
        n_steps, end = int(batch.stops.n_steps[stop]), float(batch.stops.t[stop])
        if end - float(t[-1]) > SAME_TIME:
            t = np.append(t, end)
            last = {name: getattr(batch.stops, name)[stop] for name in rows}
            rows = {name: np.concatenate([row, last[name][None]]) for name, row in rows.items()}
    return replace(
        batch,
        **rows,
        t=t,
        status=str(np.asarray(batch.status)[where]),
        reason=str(np.asarray(batch.reason)[where]),
        events=tuple(replace(event, state=()) for event in batch.events if event.state == where),
        n_steps=n_steps,
        inputs_hash=hash_of(batch.inputs_hash, list(where)),
        stops=None,
        faults=(),
        exchanged=None if batch.exchanged is None else batch.exchanged[where],
    )


def _last_samples(batch: Trajectory, name: str) -> np.ndarray:
    """Return a field at the end of every run, (..., …); NaN for runs without a sample."""
    shape = batch.q.shape[:-2]
    values = np.broadcast_to(batch.t, (*shape, len(batch.t))) if name == "t" else getattr(batch, name)
    if not len(batch.t):
        return np.full((*shape, *values.shape[len(shape) + 1 :]), np.nan)
    last = np.maximum(np.isfinite(batch.q).all(axis=-1).sum(axis=-1) - 1, 0)
    last = last.reshape(*shape, *[1] * (values.ndim - len(shape)))
    ends = np.take_along_axis(values, last, axis=len(shape)).squeeze(axis=len(shape))
    if batch.stops is not None:
        ends[tuple(batch.stops.runs.T)] = getattr(batch.stops, name)
    return ends
