"""Time stepping of walking machines against mujoco.rollout and mj_step: CPU time a step, one thread, one run.

Both sides start from the same states, take the same steps of 1 ms and hold the same joints with servos; MuJoCo
integrates them implicitly (implicitfast), as zveno does. `impratio="10"` is what MuJoCo's documentation asks for
with the elliptic cone where feet must not slip.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno import simulation
from zveno.simulation import TimeStepping

from . import timing
from .mujoco_walkers import mjcf
from .timing import Row, interleaved

STEPS = 50
STEPS_ALONE = 1000
"""Of a single machine, whose run has a fixed cost of its own."""
CONES = {
    "pyramidal": 'integrator="implicitfast"',
    "elliptic": 'integrator="implicitfast" cone="elliptic" impratio="10"',
}
LARGEST_RESIDUAL = 1e-2
"""N; machines that leave more anywhere on the way are counted in the name of the row."""


def run() -> list[Row]:
    threads = zveno.kernels.threads.get_threads()
    zveno.set_threads(1)
    try:
        return [*machine("quadruped", quadruped(), 8.0), *machine("biped, 8 points", biped(), 6.0)]
    finally:
        zveno.set_threads(threads)


def quadruped():
    """(robot, standing q, spheres, kp, kd, friction)."""
    robot = zveno.load("quadruped")
    bent = {"knee": -1.2, "hip_pitch": 0.6}
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    return _standing(robot, bent, [(foot, (0.0, 0.0, 0.0), 0.02) for foot in feet], 300.0, 8.0, 0.6)


def biped():
    """The same for the biped, with a small sphere at each corner of its soles."""
    robot = zveno.load("biped")
    bent = {"knee": 0.5, "hip_pitch": -0.25, "ankle_pitch": -0.25}
    corners = [(x, y, 0.0) for x in (-0.12, 0.12) for y in (-0.05, 0.05)]
    spheres = [(f"{side}_foot", corner, 0.005) for side in ("left", "right") for corner in corners]
    return _standing(robot, bent, spheres, 800.0, 20.0, 0.8)


def _standing(robot, bent, spheres, kp, kd, friction):
    q = robot.pack({name: bent[end] for name in robot.joint_names for end in bent if name.endswith(end)})
    frames = robot.frame_poses(q, frames=[name for name, _, _ in spheres])
    lowest = [
        (T[:3, 3] + T[:3, :3] @ np.array(local))[2] - r for T, (_, local, r) in zip(frames, spheres, strict=True)
    ]
    q[2] -= min(lowest)
    return robot, q, spheres, kp, kd, friction


def machine(what: str, given, bar: float, n: int = 1024) -> list[Row]:
    """A batch of n and a single machine, each against both cones."""
    import mujoco
    from mujoco import rollout

    robot, q, spheres, kp, kd, friction = given
    contacts = [
        simulation.Contact(frame, simulation.Sphere(radius, local), friction=friction, name=f"{frame} {k}")
        for k, (frame, local, radius) in enumerate(spheres)
    ]
    rng = np.random.default_rng(0)
    Q, V = np.tile(q, (n, 1)), 0.1 * rng.normal(size=(n, robot.n_v))
    hold = simulation.PD(q, kp, kd, gravity=False)

    def ours(q0, v0, steps):
        found = robot.simulate(
            q0,
            v0,
            steps * 1e-3,
            control=hold,
            constraints=contacts,
            integrator=TimeStepping(),
            sample_time=steps * 1e-3,
            progress=False,
        )
        return found.residual[..., -1]

    together = {"zveno": lambda: ours(Q, V, STEPS)}
    alone = {"zveno": lambda: ours(q, V[0], STEPS_ALONE)}
    for name, option in CONES.items():
        text = mjcf(robot.mechanism, spheres, friction=friction, kp=kp, kd=kd, option=option)
        model = mujoco.MjModel.from_xml_string(text)
        start = np.zeros((n, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        start[:, 1 : 1 + robot.n_q], start[:, 1 + robot.n_q : 1 + robot.n_q + robot.n_v] = Q, V
        control = np.tile(q[7:], (n, STEPS, 1))
        data = [mujoco.MjData(model)]

        def batch(model=model, data=data, start=start, control=control):
            rollout.rollout(model, data, start, control)

        def single(model=model, data=data[0], start=start):
            mujoco.mj_setState(model, data, start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
            data.ctrl[:] = q[7:]
            mujoco.mj_step(model, data, STEPS_ALONE)

        together[name], alone[name] = batch, single
    rows, left = [], ours(Q, V, STEPS)
    what = f"{what} (residual ≤ 1e-2 N: {(left <= LARGEST_RESIDUAL).mean():.1%}, all ≤ {left.max():.2g})"
    for kind, calls, items, least in (
        (f"batch of {n}", together, n * STEPS, bar),
        ("single", alone, STEPS_ALONE, 2.0),
    ):
        taken = interleaved(calls, items, repeats=1 if timing.middle is min and calls is together else 3)
        rows += [Row(f"{what}, {kind}", taken["zveno"], taken[name], f"mujoco {name}", least) for name in CONES]
    return rows
