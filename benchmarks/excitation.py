"""Exciting trajectories: accuracy against random motions and against recorded ones, and the time it takes.

Random motions are drawn by the same rule as the starts of the search: random shapes about random centres, as large
as the limits allow. Recorded ones are those of ../shared/data where it is there; the plan keeps to the extents of
their q, v and a and lasts as long in all, so that only the way through the same space differs.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.signal import firwin

import zveno
from zveno import MotionLimits, identification
from zveno.fit.threads import one_thread
from zveno.identification.excitation._curves import FourierBasis
from zveno.identification.excitation._optimise import BATCH, random_motions
from zveno.identification.excitation.plan_excitation import excitation_problem
from zveno.motion_limits import motion_bounds

from .excitation_figaroh import FINE, planned
from .timing import Row

DATA = Path(__file__).parents[2] / "shared" / "data"
N_RANDOM = 10_000
PANDA = MotionLimits(
    velocity=[2.175] * 4 + [2.61] * 3,
    acceleration=[15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0],
    torque=[87.0] * 4 + [12.0] * 3,
)
"""Limits of the Franka Emika Panda as its maker gives them."""


def run() -> list[Row]:
    return [*_against_random(), *_against_recorded(), *_against_figaroh()]


def _against_random() -> list[Row]:
    robot = zveno.load("panda")
    start = time.perf_counter()
    plan = identification.plan_excitation(robot, 10.0, harmonics=5, motion=PANDA)
    taken = time.perf_counter() - start
    limits, _ = motion_bounds(robot, None, PANDA)
    problem = excitation_problem(
        robot, limits, FourierBasis(10.0, 5), drives=True, payload=None, have=None, clearance=None, torque_sigma=1.0
    )
    rng, best, n = np.random.default_rng(1), -np.inf, 0
    with one_thread():
        while n < N_RANDOM:
            motions = random_motions(problem, BATCH, rng)
            n += len(motions)
            best = max(best, *(problem.value(x) for x in motions))
    gain = float(np.exp((plan.log_det - best) / (2 * len(plan.names))))
    return [
        Row("Panda, 10 s, 5 harmonics, all starts (wall clock)", taken, 15.0, "promise", 1.0),
        Row(f"σ (geometric mean of {len(plan.names)})", 1.0, gain, f"best of {n} random motions", 1.45, "σ"),
    ]


def _against_recorded() -> list[Row]:
    rows = []
    for name, bar, states in (("ur10", 1.3, _ur10), ("tx40", 1.5, _tx40)):
        try:
            robot, q, v, a, seconds = states()
        except FileNotFoundError:
            rows.append(Row(f"{name}: recorded trajectory", float("nan"), float("nan"), "no data here", bar, "σ"))
            continue
        names = robot.joint_names
        plan = identification.plan_excitation(
            robot,
            10.0,
            limits={n: (lo, hi) for n, lo, hi in zip(names, q.min(axis=0), q.max(axis=0), strict=True)},
            motion=MotionLimits(velocity=abs(v).max(axis=0), acceleration=abs(a).max(axis=0), torque=np.inf),
        )
        rank = len(plan.names)
        as_long = plan.log_det + rank * np.log(len(q) / (plan.rate * plan.duration))
        gain = float(np.exp((as_long - _log_det(robot, q, v, a)) / (2 * rank)))
        rows.append(Row(f"{name}: σ within the same extents, {seconds:.3g} s", 1.0, gain, "as recorded", bar, "σ"))
    return rows


def _against_figaroh() -> list[Row]:
    """A UR10 with limits of position, velocity and torque; accelerations as large as figaroh's become."""
    robot = zveno.load("ur10")
    velocity, torque = np.full(6, 2.0), np.array([330.0, 330.0, 150.0, 54.0, 54.0, 54.0])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a URDF cannot hold, and doubled converters of its imports
        urdf = Path(folder) / "ur10.urdf"
        robot.write(urdf)
        theirs = planned(urdf, velocity, torque)
    if theirs is None:
        return []
    seconds, q, v, a = theirs
    start = time.process_time()
    plan = identification.plan_excitation(
        robot, len(q) / FINE, motion=MotionLimits(velocity=velocity, acceleration=abs(a).max(axis=0), torque=torque)
    )
    ours = time.process_time() - start
    gain = float(np.exp((plan.log_det - _log_det(robot, q, v, a)) / (2 * len(plan.names))))
    return [
        Row("UR10, 10 s, CPU", ours, seconds, "figaroh 1.0", 1.0),
        Row("UR10: σ within the same limits", 1.0, gain, "figaroh 1.0", 1.0, "σ"),
    ]


def _log_det(robot: zveno.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """Of the information of the base parameters with drives, for a torque noise of 1."""
    base = robot.base_parameters(drives=True, loops=())
    W = np.concatenate([robot.regressor(q, v, a), robot.kernel("drive_regressor")(v, a)], axis=-1)
    A = W[..., base.regressor_columns].reshape(-1, base.rank)
    return float(np.linalg.slogdet(A.T @ A)[1])


def _ur10():
    table = np.genfromtxt(DATA / "ur10_dynamics" / "ur10_exciting_trajectory.csv", delimiter=",", skip_header=1)
    return zveno.load("ur10"), *_smooth(table[:, 2:8], 125.0, 5.0, 1)


def _tx40():
    position = np.genfromtxt(DATA / "tx40" / "pos_read_data.csv", delimiter=",", skip_header=1)
    N = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    N[5, 4] = 32.0
    q = position[:, :6] @ np.linalg.inv(N).T + np.array([0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0])
    return zveno.load("tx40"), *_smooth(q, 5000.0, 10.0, 25)


def _smooth(q: np.ndarray, rate: float, band: float, every: int):
    """q, v and a of the part where the filter fits, and its length: zero phase, then central differences."""
    taps = firwin(int(4 * rate / band) | 1, band, fs=rate)
    q = np.stack([np.convolve(column, taps, "valid") for column in q.T], axis=1)
    v = np.gradient(q, 1.0 / rate, axis=0)
    a = np.gradient(v, 1.0 / rate, axis=0)
    inside = slice(2, -2, every)
    return q[inside], v[inside], a[inside], (len(q) - 4) / rate
