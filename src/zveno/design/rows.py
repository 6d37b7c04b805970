"""What one posture tells: rows of the calibration's Jacobian, whitened, and how they change with the posture.

Calibration has the models, the measurements and the choice of independent parameters; here they are traced once
more as a function of the posture alone, so that thousands of candidates are one call and gradients are exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np

from ..algorithms.inverse_dynamics import gravity_torque
from ..calibration.identifiability.analysis import Identifiability, analyse
from ..calibration.identifiability.postures import imagined
from ..calibration.measurements import Measurement, measurement
from ..calibration.measurements.campaigns import Campaign
from ..calibration.measurements.system import System
from ..calibration.model.kinematics import frame_motion
from ..calibration.model.loads import gravity, loaded
from ..calibration.model.models import redundant_model
from ..calibration.model.strategies import independent_columns
from ..errors import ZvenoError
from ..kernels import derivatives
from ..kernels.kernel import Kernel, load_or_build
from ..kernels.math import sqrt
from ..kernels.sources import source_digest
from ..kernels.trace import call, trace
from ..robot_functions import RobotFunctions
from .contacts import (
    contact_rows,
    distance_information,
    frames_by_label,
    group_list,
    in_contact,
    system_of,
    touched,
)

ASSUMED = {"m": 1e-4, "rad": 1e-4}
"""Standard deviations taken where a measurement does not say its own."""


class Rows:
    """Rows of the Jacobian of a measurement at any posture, by the parameters that can be found.

    Attributes:
        robot, measurement: what is measured.
        names: parameters of interest, then unknowns that are only in the way.
        n_interest: how many of them are of interest.
        units, scales: of each parameter; one scaled unit is `scale` of its unit.
        sigmas: standard deviation of every row of a posture.
        placed, new_places, groups: for measurements by contact, frames (4, 4) of what is touched, by label; labels
            of what was not touched before; groups that candidates touch.
        notes: what was assumed.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        kind: Measurement | str = "pose",
        *,
        parameters: str | Sequence[str] = "all",
        strategy: str = "JL",
        joint_terms: Sequence[str] = (),
        have: Campaign | None = None,
        places: int | None = None,
        seed: int = 0,
    ):
        self.robot = robot
        self.measurement = kind = measurement(kind)
        self.joint_terms = tuple(joint_terms)
        self.model = redundant_model(robot.mechanism, kind.frame, joint_terms)
        self._seed = seed
        things = len(kind.right) * len(kind.targets) * kind.n_rows
        n = max(30, int(np.ceil(3.0 * (len(self.model.terms) + 12) / things)))
        self.placed: dict[str, np.ndarray] = {}
        self.new_places: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self.system = self._touching(n, have, places) if kind.implicit else self.imagined(n)
        self.found: Identifiability = analyse(self.system, robot.name, strategy, parameters)
        if not self.found.chosen:
            raise ZvenoError(
                "the measurement tells nothing about these parameters", element=", ".join(self.found.names[:8])
            )
        numbers = {name: k for k, name in enumerate(self.system.names)}
        interest = [numbers[name] for name in self.found.chosen]
        self.columns = interest + self._independent(interest)
        self.n_interest = len(interest)
        self.names = tuple(self.system.names[k] for k in self.columns)
        self.units = tuple(self.system.units[k] for k in self.columns)
        # Parameters in units that matter equally at the tool: lengths by the robot's size, angles as they are.
        self.scales = np.array([self.model.scale if unit == "m" else 1.0 for unit in self.units])
        self.notes: list[str] = []
        self.sigmas = self._sigmas()

    def imagined(self, n: int) -> System:
        """`n` random postures with noise-free readings, in contact where the measurement needs it."""
        return imagined(self.model, self.measurement, n, self._seed, self._gravity, self.groups, self.placed)

    @property
    def _gravity(self):
        return gravity(self.robot.mechanism) if "compliance" in self.joint_terms else None

    @property
    def n_rows(self) -> int:
        """Rows of one posture."""
        return len(self.sigmas)

    @property
    def frame(self) -> str:
        """The measured frame."""
        return self.system.parts[0].frame

    def jacobians(self, q) -> np.ndarray:
        """Whitened rows by scaled parameters in every posture, (n, rows, parameters)."""
        q = self.robot.mechanism.checked_q(q)
        return self._kernel(q, self.sigmas**2, self.measurement.sigma_q**2) * self.scales

    def pullback(self, q, weights) -> np.ndarray:
        """d/dq Σ weights · rows in the tangent of q, (n, n_v), for weights (n, rows, parameters) held constant."""
        q = self.robot.mechanism.checked_q(q)
        return self._slope(q, self.sigmas**2, self.measurement.sigma_q**2, weights * self.scales)

    def tool(self, q) -> tuple[np.ndarray, np.ndarray]:
        """Position (n, 3) of the measured point, m, and its Jacobian (n, 3, interest) by scaled parameters."""
        p, F = self._tool_kernel(self.robot.mechanism.checked_q(q))
        return p, F * self.scales[: self.n_interest]

    def contacts(self, n: int) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
        """For measurements by contact: postures that touch, their places, and rows as in `jacobians`."""
        system = self.imagined(n)
        rows = self._in_contact(system)
        q, groups = system.parts[0].q, system.campaigns[0].groups
        inside = np.all((q >= self.robot.lower) & (q <= self.robot.upper), axis=1)
        chosen = tuple(groups[k] for k in np.flatnonzero(inside)) if groups else ()
        return q[inside], chosen, rows[inside]

    def measured(self, have: Campaign) -> np.ndarray:
        """Rows (n, rows, parameters) of postures measured before."""
        if not self.measurement.implicit:
            return self.jacobians(have.q)
        moved, touching = in_contact(self.model, have, self.placed, self._gravity)
        lost = int((~touching).sum())
        if lost:
            self.notes.append(f"{lost} of {len(have)} postures measured before cannot touch and do not count")
        return self._in_contact(system_of(self.model, [moved], self._gravity, self.placed))[touching]

    @cached_property
    def known(self) -> np.ndarray:
        """Information (K, K) that needs no posture: known distances between the places touched."""
        return distance_information(self.system, self.names, self.scales)

    # --- private

    def _touching(self, n: int, have: Campaign | None, places: int | None) -> System:
        """Rows of postures that touch what was touched before, and new places; sets where these are."""
        before = Campaign(self.measurement, np.zeros((0, self.robot.n_q))) if have is None else have
        self.groups = group_list(self.measurement, before, places)
        self.placed = touched(self.model, before, self._gravity) if len(before) else {}
        system = self.imagined(n)
        found = frames_by_label(system, system.frames)
        self.new_places = tuple(label for label in found if label not in self.placed)
        self.placed = {**found, **self.placed}
        self.groups = tuple(dict.fromkeys(system.campaigns[0].groups))  # others are out of reach
        if not len(before):
            return system
        moved, _ = in_contact(self.model, before, self.placed, self._gravity)
        return system_of(self.model, [system.campaigns[0], moved], self._gravity, self.placed)

    def _in_contact(self, system: System) -> np.ndarray:
        return contact_rows(system, self.names, self.scales, self.sigmas, self.measurement.sigma_q)

    def _independent(self, interest: list[int]) -> list[int]:
        """Unknowns in the way, without those that others already stand for."""
        in_the_way = self.system.columns_of(False)
        if not in_the_way:
            return []
        _, J = self.system.evaluate(np.zeros(len(self.model.terms)), self.system.frames, compiled=False, exact=True)
        A = J[:, in_the_way]
        norms = np.linalg.norm(A, axis=0)
        A = A / np.where(norms > 0, norms, 1.0)
        s = np.linalg.svd(A, compute_uv=False)
        rank = int((s > 1e-9 * s[0]).sum())
        return [in_the_way[k] for k in independent_columns(A, range(len(in_the_way)), rank)]

    def _sigmas(self) -> np.ndarray:
        given = self.measurement.sigmas()
        one = np.zeros(self.measurement.n_rows)
        for noise in self.measurement.noises:
            sigma = given[noise.name]
            if sigma is None:
                sigma = ASSUMED[noise.unit]
                unit = "mm" if noise.unit == "m" else "mrad"
                self.notes.append(f"the noise of {noise.name} is not given: {sigma * 1e3:g} {unit} is assumed")
            one[noise.rows] = sigma
        things = len(self.measurement.right) * len(self.measurement.targets)
        return np.tile(one, things)

    @cached_property
    def _key(self) -> tuple:
        return (
            self.model.mechanism.fingerprint,
            self.measurement.kind,
            self.frame,
            self.names,
            source_digest("design/rows.py", "calibration", "algorithms", "mechanism", "spatial"),
        )

    @cached_property
    def _kernel(self) -> Kernel:
        frames = hashlib.sha256(self.system.frames.tobytes()).hexdigest()
        return load_or_build(repr(("design rows", frames, self._key)), self._program)

    @cached_property
    def _slope(self) -> Kernel:
        frames = hashlib.sha256(self.system.frames.tobytes()).hexdigest()

        def program():
            backwards = derivatives.reverse(self._program(), of="J", wrt="q")
            shapes = {argument.name: argument.shape for argument in backwards.inputs}
            mechanism = self.model.mechanism

            def run(q, *others):
                return mechanism.tangent(q).T @ call(backwards, q, *others)

            return trace(run, shapes, name="design_slope", outputs=("slope",))

        return load_or_build(repr(("design slope", frames, self._key)), program)

    @cached_property
    def _tool_kernel(self) -> Kernel:
        part = self.system.parts[0]
        point = self.system.frames[part.right[0]][:3, 3]
        chosen = [k if k < len(self.model.terms) else None for k in self.columns[: self.n_interest]]

        def run(q):
            T, J = self._motion(q)
            # A point of the frame moves with v + w × point in the frame's axes.
            linear = J[:3] + np.stack(
                [
                    J[4] * point[2] - J[5] * point[1],
                    J[5] * point[0] - J[3] * point[2],
                    J[3] * point[1] - J[4] * point[0],
                ]
            )
            linear = T[:3, :3] @ linear
            F = np.zeros((3, len(chosen)), dtype=object)
            for place, k in enumerate(chosen):
                if k is not None:
                    F[:, place] = linear[:, k]
            return T[:3, :3] @ point + T[:3, 3], F

        key = repr(("design tool", point.tolist(), self._key))
        shapes = {"q": (self.robot.n_q,)}
        return load_or_build(key, lambda: trace(run, shapes, name="design_tool", outputs=("p", "F")))

    def _motion(self, q):
        """Pose of the measured frame and its Jacobian by all parameters of the model, traced."""
        tau = gravity_torque(loaded(self.model.mechanism), q) if "compliance" in self.joint_terms else None
        return frame_motion(self.model, self.frame, q, np.zeros(len(self.model.terms)), tau)

    def _by_joints(self, J):
        """Derivatives (6, joints) by what the joints' own sensors say, from those by joint offsets."""
        own: dict[int, list] = {}
        for move in self.model.moves:
            if move.sigma is not None:
                own.setdefault(move.velocity.start, []).append(move.multiplier * J[:, move.own])
        if not own:
            return np.zeros((6, 1))
        return np.stack([sum(parts[1:], start=parts[0]) for parts in own.values()], axis=-1)

    def _program(self):
        """(q, variance (rows,), variance_q ()) → J (rows, parameters), rows divided by their standard deviation."""
        system, kind = self.system, self.measurement
        part = system.parts[0]
        things = np.flatnonzero(part.posture == 0)
        slopes = _residual_slopes(type(kind))
        owners = {system.frame_number(k): unknown for k, unknown in enumerate(system.unknowns)}

        def run(q, variance, variance_q):
            T, J = self._motion(q)
            by_q = self._by_joints(J)
            rows = []
            for thing in things:
                numbers = (part.left[thing], part.right[thing], part.target[thing])
                L, R, X = (system.frames[number] for number in numbers)
                # Only residuals of poses are not linear in the reading; there it follows the posture.
                y = kind.reading(L @ T @ R, X) if kind.n_data != kind.n_rows else np.zeros(kind.n_data)
                by_T, *by_slots = call(slopes, T, L, R, X, y)
                full = np.zeros((kind.n_rows, system.n_columns), dtype=object)
                full[:, : J.shape[1]] = by_T @ J
                for number, slope in zip(numbers, by_slots, strict=True):
                    if number in owners:
                        unknown = owners[number]
                        for k, direction in enumerate(unknown.free):
                            full[:, unknown.start + k] = full[:, unknown.start + k] + slope[:, direction]
                first = kind.n_rows * len(rows)
                moving = by_T @ by_q
                own = variance[first : first + kind.n_rows] + variance_q * np.sum(moving * moving, axis=1)
                spread = np.array([sqrt(one) for one in own])
                rows.append(full[:, self.columns] / spread[:, None])
            return np.concatenate(rows)

        shapes = {"q": (self.robot.n_q,), "variance": (self.n_rows,), "variance_q": ()}
        return trace(run, shapes, name="design_rows", outputs=("J",))


@cache
def _residual_slopes(kind: type[Measurement]):
    """(T, L, R, X, y) → derivatives (m, 6) of a residual by body twists of T, L, R and X."""
    frames = dict.fromkeys("TLRX", (4, 4))
    twists = {f"d{name}": (6,) for name in "TLRX"}

    def moved(T, L, R, X, y, dT, dL, dR, dX):
        product = (L + L @ _hat(dL)) @ (T + T @ _hat(dT)) @ (R + R @ _hat(dR))
        return kind.residual(product, X + X @ _hat(dX), y)

    program = trace(moved, frames | {"y": (kind.n_data,)} | twists, outputs=("r",))
    slopes = derivatives.jacobian(program, wrt=tuple(twists))
    at_rest = [np.zeros(6)] * 4
    return trace(
        lambda *arrays: call(slopes, *arrays, *at_rest),
        frames | {"y": (kind.n_data,)},
        outputs=("by_T", "by_L", "by_R", "by_X"),
    )


def _hat(d):
    """The 4×4 matrix of a twist: the derivative of its displacement."""
    o = 0.0
    return np.array([[o, -d[5], d[4], d[0]], [d[5], o, -d[3], d[1]], [-d[4], d[3], o, d[2]], [o, o, o, o]], object)
