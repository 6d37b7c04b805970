"""Simulation by rk4, dop853 and time stepping; constrained dynamics; hydraulic drives; motions from rest to rest.

Rounding grows along a run: runs by rk4 are compared to 1e-9, adaptive ones to 1e-7, contacts to 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case
from ..robots import every_joint, four_bar, four_bar_posture, load
from ..store import Archive

S = api.simulation_names()
FIXED, ADAPTIVE, CONTACTS = 1e-9, 1e-7, 1e-6
KEPT = 12
"""Samples kept of a run."""


def cases(archive: Archive) -> Iterator[Case]:
    """Runs by every kept integrator."""
    yield from _smooth(archive)
    yield from _control()
    yield from _bilateral()
    yield from _events()
    yield from _contacts()
    yield from _hydraulic()
    yield from _instant(archive)
    yield from _motions()


def kept(run: Any, *names: str) -> dict[str, Any]:
    """Some samples of a run, and its last state."""
    step = max(1, run.q.shape[-2] // KEPT)
    values = {name: getattr(run, name)[..., ::step, :] for name in ("q", "v", *names)}
    last = {"q end": run.q[..., -1, :], "v end": run.v[..., -1, :], "samples": run.q.shape[-2]}
    return values | last | {"status": api.run_status(run)}


def with_energy(run: Any) -> dict[str, Any]:
    """The same with energy and work."""
    step = max(1, run.q.shape[-2] // KEPT)
    return kept(run, "tau") | {name: getattr(run, name)[..., ::step] for name in ("kinetic", "potential", "work")}


def _smooth(archive: Archive) -> Iterator[Case]:
    for name, duration in (("ur5", 0.5), ("chain(5)", 1.0), ("quadruped", 0.3), ("puma560", 0.5)):
        robot = load(name)
        q = archive.given(f"{name}/q", lambda robot=robot: api.random_postures(robot, 3, 41))
        v = 0.3 * np.random.default_rng(42).standard_normal((3, robot.n_v))
        yield Case(
            f"smooth/{name}, rk4",
            lambda r=robot, q=q, v=v, d=duration: with_energy(
                api.simulate(r, q[0], v[0], d, rk4=1e-3, sample_time=0.01)
            ),
            FIXED,
        )
        yield Case(
            f"smooth/{name}, dop853",
            lambda r=robot, q=q, v=v, d=duration: with_energy(
                api.simulate(r, q[0], v[0], d, dop853=1e-9, sample_time=0.01)
            ),
            ADAPTIVE,
        )
        yield Case(
            f"smooth/{name}, batch",
            lambda r=robot, q=q, v=v, d=duration: kept(api.simulate(r, q, v, d, rk4=1e-3, sample_time=0.01)),
            FIXED,
        )
    robot = every_joint()
    q = archive.given("every joint/q", lambda: api.random_postures(robot, 1, 43))[0]
    yield Case("smooth/every joint, rk4", lambda: kept(api.simulate(robot, q, duration=0.2, rk4=5e-4)), FIXED)
    yield Case(
        "smooth/every joint, dop853", lambda: kept(api.simulate(robot, q, duration=0.2, dop853=1e-9)), ADAPTIVE
    )
    yield Case(
        "smooth/every joint, friction",
        lambda: kept(api.simulate(robot, q, duration=0.2, rk4=5e-4, joint_friction=True)),
        FIXED,
    )
    ur5 = load("ur5")
    start = np.array([0.0, -1.0, 1.0, -0.5, 0.5, 0.0])
    yield Case("smooth/defaults", lambda: kept(api.simulate(ur5, start)), ADAPTIVE)
    yield Case("smooth/defaults of a batch", lambda: kept(api.simulate(ur5, np.stack([start, 0.9 * start]))), FIXED)

    def base(t):
        T = np.zeros((4, 4), dtype=object)
        T[:] = np.eye(4)
        T[2, 3] = 0.05 * api.ops.sin(6.0 * t)
        return T

    yield Case(
        "smooth/moving base",
        lambda: kept(api.simulate(load("chain(2)"), [0.1, 0.2], duration=0.5, rk4=1e-3, base_motion=base)),
        FIXED,
    )


def _control() -> Iterator[Case]:
    robot, q0 = load("ur5"), np.array([0.0, -1.0, 1.0, -0.5, 0.5, 0.0])
    t = np.linspace(0.0, 0.4, 41)

    def reference(t):
        return np.array([q0[i] + 0.2 * (1.0 - api.ops.cos(3.0 * t)) for i in range(6)])

    controls = {
        "PD": S.PD(q0 + 0.2, kp=200.0, kd=40.0),
        "PD without gravity": S.PD(q0 + 0.2, kp=200.0, kd=40.0, gravity=False),
        "computed torque": S.ComputedTorque(reference),
        "recorded": S.Recorded(t, np.outer(np.sin(8 * t), np.ones(6))),
        "function": lambda t, q, v: -2.0 * v,
        "traced": S.Traced(lambda t, q, v: -2.0 * v - 5.0 * np.array([api.ops.sin(x) for x in q])),
        "constant": api.constant_torque(np.full(6, 2.0)),
    }
    for name, control in controls.items():
        yield Case(
            f"control/{name}, rk4",
            lambda c=control: kept(
                api.simulate(robot, q0, duration=0.4, rk4=1e-3, control=c, sample_time=0.02), "tau"
            ),
            FIXED,
        )
        yield Case(
            f"control/{name}, dop853",
            lambda c=control: kept(api.simulate(robot, q0, duration=0.4, dop853=1e-8, control=c, sample_time=0.02)),
            ADAPTIVE,
        )
    servo = S.ServoDrive(lag=0.02, saturation=100.0)
    yield Case(
        "control/servo drive",
        lambda: kept(
            api.simulate(robot, q0, duration=0.4, rk4=1e-3, control=controls["PD"], drive=servo, sample_time=0.02),
            "tau",
        ),
        FIXED,
    )


def _bilateral() -> Iterator[Case]:
    dog = load("quadruped")
    bent = {name: 0.6 if "pitch" in name else -1.2 for name in dog.joint_names if name.endswith(("pitch", "knee"))}
    q = dog.pack(bent)
    feet = [name for name in dog.frame_names if name.endswith("_foot")]
    sets = {
        "ball joints": [api.ball_joint(name) for name in feet],
        "welds": [S.Weld(feet[0]), api.ball_joint(feet[3])],
        "hinge": [S.Hinge(feet[1], axis=(0.0, 1.0, 0.0))],
        "distance": [api.distance_constraint(feet[0], other=feet[1])],
        "planes": [S.PointOnPlane(name) for name in feet],
        "motion": [S.JointMotion("front_left_knee", lambda t: -1.2 + 0.1 * api.ops.sin(3.0 * t))],
    }
    for name, constraints in sets.items():
        yield Case(
            f"bilateral/{name}, rk4",
            lambda c=constraints: kept(
                api.simulate(dog, q, duration=0.2, rk4=1e-3, constraints=c, sample_time=0.01), "reactions"
            ),
            FIXED * 10,
        )
        yield Case(
            f"bilateral/{name}, dop853",
            lambda c=constraints: kept(
                api.simulate(dog, q, duration=0.2, dop853=1e-8, constraints=c, sample_time=0.01), "reactions"
            ),
            ADAPTIVE,
        )
    bar, q0 = four_bar(), four_bar_posture(0.7)
    for words, options in {"rk4": {"rk4": 1e-3}, "dop853": {"dop853": 1e-9}}.items():
        yield Case(
            f"bilateral/four bar, {words}",
            lambda o=options: kept(api.simulate(bar, q0, duration=0.5, sample_time=0.02, **o), "reactions"),
            ADAPTIVE,
        )
    yield Case(
        "bilateral/four bar, projection",
        lambda: kept(api.simulate(bar, q0, duration=0.5, rk4=1e-3, sample_time=0.02, projection=True)),
        ADAPTIVE,
    )


def _events() -> Iterator[Case]:
    robot = load("chain(2)")
    starts = [[0.5, 0.1], [0.1, 0.0], [-1.5, 0.2]]

    def found(run: Any) -> dict[str, Any]:
        events = run.events
        return kept(run) | {"times": [event.t for event in events], "names": [event.name for event in events]}

    for terminal in (False, True):
        event = S.Event(lambda t, q, v: q[0] + 1.2, "down", terminal=terminal)
        words = "terminal" if terminal else "passed"
        for name, options in {"rk4": {"rk4": 1e-3}, "dop853": {"dop853": 1e-9}}.items():
            yield Case(
                f"events/{words}, {name}",
                lambda e=event, o=options: found(api.simulate(robot, starts[0], events=[e], **o)),
                ADAPTIVE,
            )


def _contacts() -> Iterator[Case]:
    dog = load("quadruped")
    bent = {name: 0.6 if "pitch" in name else -1.2 for name in dog.joint_names if name.endswith(("pitch", "knee"))}
    feet = [name for name in dog.frame_names if name.endswith("_foot")]
    q = dog.pack(bent)
    q[2] = 0.07 - api.frame_poses(dog, q, feet)[:, 2, 3].min()
    hold = S.PD(q, kp=300.0, kd=8.0, gravity=False)
    step = {"time_stepping": 1e-3, "sample_time": 0.02}
    grounds = {
        "plane": None,
        "slope": S.GroundPlane((0.1, 0.0, 1.0)),
        "steps": S.GroundSteps([0.1], [0.0, 0.03]),
        "heights": S.HeightField(0.01 * np.sin(np.arange(400.0)).reshape(20, 20), (0.1, 0.1), (-1.0, -1.0)),
    }
    for name, ground in grounds.items():
        spheres = [api.contact(foot, S.Sphere(0.02), against=ground, friction=0.6) for foot in feet]
        yield Case(
            f"contacts/quadruped, {name}",
            lambda c=spheres: kept(
                api.simulate(dog, q, duration=0.4, control=hold, constraints=c, **step), "reactions"
            ),
            CONTACTS,
        )
    spheres = [api.contact(foot, S.Sphere(0.02), friction=0.6) for foot in feet]
    batch = np.stack([q, q, q])
    batch[:, 2] += [0.0, 0.02, 0.05]
    yield Case(
        "contacts/quadruped, batch",
        lambda: kept(api.simulate(dog, batch, duration=0.3, control=hold, constraints=spheres, **step)),
        CONTACTS,
    )
    bouncing = [api.contact(foot, S.Sphere(0.02), friction=0.6, restitution=0.5) for foot in feet]
    yield Case(
        "contacts/quadruped, restitution",
        lambda: kept(api.simulate(dog, q, duration=0.3, control=hold, constraints=bouncing, **step)),
        CONTACTS,
    )
    welded = [*spheres, S.Weld(feet[0])]
    yield Case(
        "contacts/quadruped, a foot welded",
        lambda: kept(api.simulate(dog, q, duration=0.2, control=hold, constraints=welded, **step)),
        CONTACTS,
    )
    yield Case(
        "contacts/quadruped, friction and limits",
        lambda: kept(
            api.simulate(dog, q, duration=0.3, constraints=spheres, joint_friction=True, joint_limits=True, **step)
        ),
        CONTACTS,
    )
    body = _body()
    start = np.array([0.0, 0.0, 0.3, 0.9, 0.3, 0.2, 0.2])
    start[3:] /= np.linalg.norm(start[3:])
    shapes = {
        "box": S.Box((0.2, 0.3, 0.1)),
        "capsule": S.Capsule(0.05, (-0.1, 0.0, 0.0), (0.1, 0.0, 0.0)),
        "wheel": S.Wheel(0.1),
        "point": S.Sphere(0.0),
    }
    for name, shape in shapes.items():
        touch = [api.contact("body", shape, friction=0.5, torsional=0.01, rolling=0.001)]
        yield Case(
            f"contacts/{name}",
            lambda c=touch: kept(
                api.simulate(body, start, [1.0, 0.5, 0.0, 1.0, 0.0, 2.0], 0.5, constraints=c, **step), "reactions"
            ),
            CONTACTS,
        )
    arm = load("ur5")
    yield Case(
        "contacts/joint limits",
        lambda: kept(api.simulate(load("panda"), load("panda").neutral(), duration=0.5, joint_limits=True, **step)),
        CONTACTS,
    )
    yield Case(
        "contacts/friction of joints",
        lambda: kept(api.simulate(arm, np.zeros(6), duration=0.3, joint_friction=True, **step)),
        CONTACTS,
    )


def _body() -> zveno.Robot:
    """One free body of 2 kg."""
    ten = zveno.inertia.parameters(2.0, (0.0, 0.0, 0.0), np.diag([0.02, 0.01, 0.03]))
    joint = zveno.Joint("free", "world", "body", api.joints.Free())
    return zveno.Robot(zveno.assemble("body", [zveno.Link("world"), zveno.Link("body", ten)], [joint]))


def _hydraulic() -> Iterator[Case]:
    ten = zveno.inertia.parameters(20.0, np.array([0.4, 0.0, 0.0]), np.diag([0.1, 1.1, 1.1]))
    shoulder = zveno.Joint("shoulder", "base", "arm", api.joints.Revolute((0, -1, 0)))
    robot = zveno.Robot(zveno.assemble("arm", [zveno.Link("base"), zveno.Link("arm", ten)], [shoulder]))
    levers = {
        "pivot": S.PivotLever(parent=(0.05, 0.0, -0.3), child=(0.2, 0.0, 0.0), retracted=0.285),
        "constant": S.ConstantLever(0.08),
    }
    hold = robot.gravity_torque([0.0])
    control = S.PD([0.2], kp=3000.0, kd=250.0)
    for name, lever in levers.items():
        valve = S.ServoValve(rated_flow=10 / 60000, dead_zone=0.02)
        cylinder = S.HydraulicCylinder(
            valve, area=4e-4, rod_area=2.5e-4, stroke=0.1, lever=lever, leakage=2e-13, viscous=200.0
        )
        for words, supply in {
            "supply": S.HydraulicSupply(21e6, pump_flow=5 / 60000),
            "constant pressure": S.HydraulicSupply(21e6),
        }.items():
            drive = S.HydraulicDrive({"shoulder": cylinder}, supply)
            for integrator, options in {
                "dop853": {"dop853": 1e-8},
                "time stepping": {"time_stepping": 1e-3},
            }.items():
                yield Case(
                    f"hydraulics/{name} lever, {words}, {integrator}",
                    lambda d=drive, o=options: kept(
                        api.simulate(
                            robot, [0.0], duration=0.3, control=control, drive=d, tau0=hold, sample_time=0.01, **o
                        ),
                        "tau",
                        "drive_states",
                    ),
                    CONTACTS,
                )


def _instant(archive: Archive) -> Iterator[Case]:
    dog = load("quadruped")
    feet = [name for name in dog.frame_names if name.endswith("_foot")]
    q = archive.given("instant/q", lambda: api.random_postures(dog, 4, 44))
    v, tau = np.random.default_rng(45).standard_normal((2, 4, dog.n_v))
    sets = {
        "ball joints": [api.ball_joint(name) for name in feet],
        "weld and plane": [S.Weld(feet[0]), S.PointOnPlane(feet[1])],
        "hinge": [S.Hinge(feet[2], axis=(0.0, 1.0, 0.0))],
        "distance": [api.distance_constraint(feet[0], other=feet[3])],
        "redundant": [S.Weld(feet[0]), api.ball_joint(feet[0])],
    }
    for name, constraints in sets.items():

        def solved(c=constraints) -> dict[str, Any]:
            found = api.constrained_dynamics(dog, q, v, tau, c)
            return {"a": found.a, "reactions": found.reactions, "redundant": found.redundant, "rows": found.names}

        def rows(c=constraints) -> dict[str, Any]:
            found = api.evaluate_constraints(dog, q[0], v[0], c)
            return {str(i): value for i, value in enumerate(found)}

        yield Case(f"constrained dynamics/{name}", solved, 1e-9)
        yield Case(f"constraints/{name}", rows)
        if name != "redundant":
            yield Case(
                f"derivatives/{name}",
                lambda c=constraints: {
                    str(i): value for i, value in enumerate(api.constrained_dynamics_derivatives(dog, q, v, tau, c))
                },
                1e-9,
            )
    bar, q0 = four_bar(), four_bar_posture(0.9)
    loop = [api.loop_constraint(bar.mechanism.loops[0])]

    def closed() -> dict[str, Any]:
        found = api.constrained_dynamics(bar, q0, np.zeros(3), np.ones(3), loop)
        return {"a": found.a, "reactions": found.reactions}

    yield Case("constrained dynamics/four bar", closed, 1e-10)


def _motions() -> Iterator[Case]:
    robot = load("ur5")
    q1 = [1.0, -1.2, 0.8, 0.0, 0.5, 0.3]
    for name, options in {
        "velocity": {"velocity": 1.0, "acceleration": 4.0},
        "jerk": {"acceleration": 4.0, "jerk": 40.0},
        "straight": {"acceleration": 4.0, "jerk": 40.0, "straight": True},
    }.items():
        yield Case(
            f"point to point/{name}",
            lambda o=options: kept(api.point_to_point(robot, np.zeros(6), q1, **o), "tau"),
            1e-10,
        )
