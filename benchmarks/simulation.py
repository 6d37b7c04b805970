"""Simulation against MuJoCo, Pinocchio and SciPy: ratios of CPU time, interleaved in one run, median of repeats."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import zveno
from zveno.algorithms.factors import BodyFactors, MassFactors
from zveno.io.write import write_model
from zveno.simulation import RK4, BallJoint, constrained_dynamics
from zveno.simulation._equations import Equations
from zveno.simulation.constraints import LoopClosure
from zveno.simulation.simulate import simulate

from .timing import Row

SECONDS_FOR_A_MILLION = 1.0


def run() -> list[Row]:
    return [rollouts(), million_steps(), *constrained(), factorisations(), adaptive()]


def row(what: str, ours, rival, rival_name: str, bar: float | None = None) -> Row:
    """Medians of seconds for one item."""
    return Row(what, float(np.median(ours)), float(np.median(rival)), rival_name, bar)


def timed(function) -> float:
    """CPU time of all threads, which other work on the machine disturbs least."""
    start = time.process_time()
    function()
    return time.process_time() - start


def rollouts(n: int = 4096, steps: int = 200, repeats: int = 3) -> Row:
    """4096 arms × RK4 steps, every state kept, contacts off, all cores on both sides.

    The cost of a step does not depend on how many there are; 1000 of them take MuJoCo minutes.
    """
    import mujoco
    from mujoco import rollout

    robot = zveno.load("ur5")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ur5.urdf"
        write_model(robot.mechanism, path)
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-3
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    threads = zveno.kernels.threads.get_threads()
    data = [mujoco.MjData(model) for _ in range(threads)]
    rng = np.random.default_rng(0)
    q = rng.uniform(-1, 1, (n, robot.n_q))
    start = np.zeros((n, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    start[:, 1 : 1 + robot.n_q] = q
    kept = np.empty((n, steps, start.shape[1]))

    def theirs():
        with rollout.Rollout(nthread=threads) as pool:
            pool.rollout(model, data, start, nstep=steps, state=kept)

    equations = Equations(robot)
    from zveno.simulation._rates import Rates
    from zveno.simulation._rk4 import Stretch
    from zveno.simulation._rk4 import rollout as ours_rollout

    y0, rates = equations.state(q, np.zeros_like(q)), Rates(equations, None)
    ours_kept = np.zeros((n, steps + 1, y0.shape[-1]))

    def ours():
        ours_rollout(rates, y0, Stretch(0.0, steps, 1, 1e-3), lambda t: None, ours_kept)

    ours()
    theirs()
    gap = np.nanmax(abs(ours_kept[:64, -1, : robot.n_q] - kept[:64, -1, 1 : 1 + robot.n_q]))
    assert gap < 1e-6, f"the two do not simulate the same arm: {gap}"
    pairs = [(timed(ours), timed(theirs)) for _ in range(repeats)]
    ours_s, theirs_s = np.array(pairs).T / (n * steps)
    return row(f"{n} UR5 × {steps} RK4 steps, {threads} threads", ours_s, theirs_s, "mujoco.rollout", 15.0)


def million_steps(repeats: int = 3) -> Row:
    """A pendulum, one state, 1000 s at 1 ms, every state kept with its energy: the public function."""
    robot = zveno.load("chain(1)")

    def ours():
        return simulate(robot, [1.0], duration=1000.0, integrator=RK4(1e-3))

    assert ours().n_steps == 1_000_000
    seconds = min(timed(ours) for _ in range(repeats))
    return Row("one pendulum × 1e6 RK4 steps", seconds, SECONDS_FOR_A_MILLION, "limit", 1)


def constrained(n: int = 4096, repeats: int = 7) -> list[Row]:
    """A quadruped with four point contacts: ours in batches on one core and one by one, Pinocchio in a loop."""
    import sys

    import pinocchio as pin

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from pinocchio_oracle import Oracle

    robot = zveno.load("quadruped")
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    oracle = Oracle(robot.mechanism)
    model, data = oracle.model, oracle.data
    contacts = pin.StdVec_RigidConstraintModel()
    contact_data = pin.StdVec_RigidConstraintData()
    for foot in feet:
        frame = model.frames[oracle.frames[foot]]
        contact = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, frame.parentJoint, frame.placement, pin.LOCAL_WORLD_ALIGNED
        )
        contacts.append(contact)
        contact_data.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, contact_data)
    rng = np.random.default_rng(0)
    q = np.stack([robot.random(rng=rng) for _ in range(n)])
    v, tau = rng.normal(size=(n, robot.n_v)), rng.normal(size=(n, robot.n_v))
    held = [BallJoint(foot) for foot in feet]
    q_pin, v_pin = [oracle.q(x) for x in q], [oracle.v(x, w) for x, w in zip(q, v, strict=True)]
    settings = pin.ProximalSettings(1e-12, 0.0, 1)

    def theirs():
        for k in range(n):
            pin.constraintDynamics(model, data, q_pin[k], v_pin[k], tau[k], contacts, contact_data, settings)

    def together():
        return constrained_dynamics(robot, q, v, tau, held)

    def one_by_one():
        for k in range(n):
            constrained_dynamics(robot, q[k], v[k], tau[k], held)

    threads = zveno.kernels.threads.get_threads()
    zveno.set_threads(1)
    assert together().status == "solved"
    times = np.array([[timed(together), timed(one_by_one), timed(theirs)] for _ in range(repeats)]) / n
    zveno.set_threads(threads)
    batch, single, rival = times.T
    return [
        row("quadruped on four point contacts, batch, one core", batch, rival, "constraintDynamics", 10.0),
        row("quadruped on four point contacts, single calls", single, rival, "constraintDynamics"),
    ]


def factorisations(n: int = 1024, repeats: int = 7) -> Row:
    """A chain of 30 rods closed to a loop: separate bodies against the sparse factors of the mass matrix."""
    robot = zveno.load("chain(30)")
    rng = np.random.default_rng(0)
    q = rng.normal(size=(n, 30))
    loop = (LoopClosure("tool", locked=("x", "y"), placement=np.eye(4)),)
    calls = []
    for kind in (BodyFactors, MassFactors):
        equations = Equations(robot, loop, factors=kind)
        y, c, kernel = equations.state(q, q), equations.settings(q[0]), equations.rhs
        calls.append(lambda kernel=kernel, y=y, c=c: kernel(0.0, y, c))
        calls[-1]()
    threads = zveno.kernels.threads.get_threads()
    zveno.set_threads(1)
    bodies, entries = np.array([[timed(call) for call in calls] for _ in range(repeats)]).T / n
    zveno.set_threads(threads)
    return row("chain(30) closed to a loop, batch, separate bodies", bodies, entries, "factors of the mass matrix")


def adaptive(repeats: int = 3) -> Row:
    """The 10-rod chain for 10 s at rtol 1e-6: ours, and SciPy's solver on the same equations in plain NumPy.

    The rival is timed over 0.2 s and scaled by its number of evaluations, which takes minutes otherwise.
    """
    from scipy.integrate import solve_ivp

    from zveno.algorithms.forward_dynamics import forward_dynamics

    robot = zveno.load("chain(10)")
    q0 = np.zeros(10)
    q0[0] = -1.0
    mechanism, still = robot.mechanism, np.zeros(10)
    start = np.concatenate([q0, still])

    def plain(t, y):
        return np.concatenate([y[10:], forward_dynamics(mechanism, y[:10], y[10:], still)])

    def fast(t, y):
        return np.concatenate([y[10:], robot.forward_dynamics(y[:10], y[10:], still)])

    n = [solve_ivp(fast, (0, end), start, method="DOP853", rtol=1e-6, atol=1e-9).nfev for end in (10.0, 0.2)]

    def theirs():
        solve_ivp(plain, (0, 0.2), start, method="DOP853", rtol=1e-6, atol=1e-9)

    simulate(robot, q0, duration=10.0)
    pairs = [
        (timed(lambda: simulate(robot, q0, duration=10.0)), timed(theirs) * n[0] / n[1]) for _ in range(repeats)
    ]
    ours_s, theirs_s = np.array(pairs).T
    return row("chain(10), 10 s at rtol 1e-6", ours_s, theirs_s, "SciPy's DOP853 on plain NumPy", 20.0)
