"""Equations of every kind that is compiled, machines for short runs, and the comparison of two runs."""

import numpy as np
from scipy.integrate import solve_ivp

import zveno
from mechanisms import KINDS, random_mechanism, random_state
from zveno.mechanism import Joint, Limits, Link, Revolute, assemble
from zveno.simulation import PD, ServoDrive, Traced, Weld
from zveno.simulation._equations import Equations
from zveno.simulation._rates import Rates
from zveno.simulation.control import as_control
from zveno.simulation.trajectory import PER_RUN
from zveno.spatial import inertia

COMPILED = ["revolute", "spherical", "free", "controlled", "driven", "held", "of time"]


def equations_of(kind: str) -> tuple[Equations, np.ndarray]:
    """Equations, and a batch of states (3, n_y)."""
    rng = np.random.default_rng(1)
    if kind in KINDS:
        mechanism = random_mechanism(5, 4, (kind, "revolute"))
        equations = Equations(zveno.Robot(mechanism))
    else:
        robot = zveno.load("ur5")
        control = as_control(PD(np.zeros(6), 1.0, 0.01), robot.mechanism)
        torques = Traced(lambda t, q, v: 0.1 * np.sin(3.0 * t) - 0.01 * v)
        drive = ServoDrive(lag=0.02).prepared(robot.mechanism)
        equations = {
            "controlled": Equations(robot, control=control),
            "driven": Equations(robot, control=control, drive=drive, friction=True),
            "held": Equations(robot, (Weld("wrist_3_link"),)),
            "of time": Equations(robot, control=as_control(torques, robot.mechanism)),
        }[kind]
    mechanism = equations.mechanism
    states = [random_state(mechanism, seed)[:2] for seed in range(3)]
    y = equations.state(np.array([q for q, _ in states]), 0.3 * np.array([v for _, v in states]))
    y[:, equations.z] = rng.normal(size=y[:, equations.z].shape)
    return equations, y


def limited_pendulum() -> zveno.Robot:
    body = inertia.parameters(1.0, np.array([0.5, 0.0, 0.0]), 0.1 * np.eye(3))
    joint = Joint("a", "base", "b", Revolute((0, 1, 0)), limits=Limits(-0.7, 0.8))
    return zveno.Robot(assemble("pendulum", [Link("base"), Link("b", body)], [joint]))


def assert_same_run(first, second, tolerance=1e-9, steps=True):
    """The same events at the same times, states and energies, and with `steps` the same number of steps."""
    assert [one.name for one in first.events] == [one.name for one in second.events]
    times = [np.array([one.t for one in run.events]) for run in (first, second)]
    assert abs(times[0] - times[1]).max(initial=0.0) < tolerance
    assert (first.status, first.reason.split(" at ")[0]) == (second.status, second.reason.split(" at ")[0])
    assert first.n_steps == second.n_steps or not steps
    assert np.allclose(first.t, second.t, rtol=0, atol=tolerance)
    assert abs(first.q - second.q).max() < tolerance
    assert abs(first.energy_error - second.energy_error).max() < tolerance * max(1.0, abs(first.energy).max())


def assert_alone(own, alone, tolerance=0.0):
    """A run of a batch is that of its state alone: the same samples, events and status, to the last bit."""
    assert (own.status, own.reason) == (alone.status, alone.reason)
    assert [(one.name, one.state) for one in own.events] == [(one.name, one.state) for one in alone.events]
    times = [[one.t for one in run.events] for run in (own, alone)]
    pairs = {"times": times} | {name: [getattr(run, name) for run in (own, alone)] for name in ("t", *PER_RUN)}
    for name, (ours, expected) in pairs.items():
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance * scale, err_msg=name)
    assert own.n_steps == alone.n_steps or own.status == "diverged"


def lsoda(equations: Equations, y0, duration: float, rtol: float) -> np.ndarray:
    """The state (n_y,) at the end, by SciPy's solver for stiff equations."""
    made = solve_ivp(Rates(equations, None), (0.0, duration), y0, method="LSODA", rtol=rtol, atol=1e-3 * rtol)
    assert made.success
    return made.y[:, -1]
