"""Compiled functions of robots, derived robots, and functions of transforms, rotations and inertias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case
from ..robots import ROBOTS, placement
from ..store import Archive

N = 4
"""States of each robot."""
REFERENCES = ("aligned", "local", "world")


def cases(archive: Archive) -> Iterator[Case]:
    """Every function of every robot."""
    for name, make in ROBOTS.items():
        robot = make()
        if robot is not None:
            yield from _of_robot(archive, name, robot)
    for name in ("ur5", "quadruped"):
        robot = ROBOTS[name]()
        assert robot is not None
        yield from _derived(archive, name, robot)
    yield from _spatial()


def _states(archive: Archive, name: str, robot: zveno.Robot) -> tuple[np.ndarray, ...]:
    """q, v, a, tau and external wrenches."""
    rng = np.random.default_rng(1)
    q = archive.given(f"{name}/q", lambda: api.random_postures(robot, N, 3))
    v, a, tau = rng.standard_normal((3, N, robot.n_v))
    return q, v, a, 10 * tau, rng.standard_normal((N, len(robot.link_names), 6))


def _of_robot(archive: Archive, name: str, robot: zveno.Robot) -> Iterator[Case]:
    q, v, a, tau, external = _states(archive, name, robot)
    frame = robot.frame_names[-1]
    several = robot.frame_names[-3:]

    def case(what: str, compute: Callable[[], Any]) -> Case:
        return Case(f"{name}/{what}", lambda: _named(compute()))

    yield case("model", lambda: _model(robot))
    yield case("integrate", lambda: robot.integrate(q, 0.3 * v))
    yield case("difference", lambda: robot.difference(q, q[::-1]))
    yield case("forward_kinematics", lambda: robot.forward_kinematics(q, frame))
    yield case("frame_poses", lambda: api.frame_poses(robot, q, several))
    yield case("link_poses", lambda: robot.link_poses(q))
    for reference in REFERENCES:
        yield case(f"jacobian {reference}", lambda r=reference: robot.jacobian(q, frame, reference=r))
        yield case(
            f"jacobian_derivative {reference}",
            lambda r=reference: robot.jacobian_derivative(q, v, frame, reference=r),
        )
        yield case(f"velocity {reference}", lambda r=reference: api.frame_velocity(robot, q, v, frame, r))
        yield case(
            f"acceleration {reference}", lambda r=reference: api.frame_acceleration(robot, q, v, a, frame, r)
        )
    for what in ("center_of_mass", "center_of_mass_jacobian", "mass_matrix", "gravity_torque", "centroidal_matrix"):
        yield case(what, lambda what=what: getattr(robot, what)(q))
    for what in ("coriolis_matrix", "bias", "energy", "momentum"):
        yield case(what, lambda what=what: getattr(robot, what)(q, v))
    for what in ("inverse_dynamics", "joint_wrenches", "regressor", "inverse_dynamics_derivatives"):
        yield case(what, lambda what=what: getattr(robot, what)(q, v, a))
    yield case("inverse_mass_matrix", lambda: robot.inverse_mass_matrix(q))
    for what in ("forward_dynamics", "forward_dynamics_derivatives"):
        yield case(what, lambda what=what: getattr(robot, what)(q, v, tau))
    yield case("inverse_dynamics external", lambda: robot.inverse_dynamics(q, v, a, external=external))
    yield case("forward_dynamics external", lambda: robot.forward_dynamics(q, v, tau, external=external))
    yield case("bias external", lambda: robot.bias(q, v, external=external))
    yield case("joint_wrenches external", lambda: robot.joint_wrenches(q, v, a, external=external))
    yield case("inverse_dynamics friction", lambda: api.with_friction(robot, "inverse_dynamics", q, v, a))
    yield case("forward_dynamics friction", lambda: api.with_friction(robot, "forward_dynamics", q, v, tau))
    for what, third in (("inverse_dynamics_derivatives", a), ("forward_dynamics_derivatives", tau)):
        yield case(f"{what} friction", lambda what=what, x=third: api.with_friction(robot, what, q, v, x))
        yield case(f"{what} external", lambda what=what, x=third: getattr(robot, what)(q, v, x, external=external))
    for what in ("link_velocities", "link_accelerations", "drive_regressor"):
        yield case(what, lambda what=what: _by_kernel(robot, what, q, v, a))
    yield case("one state", lambda: (robot.mass_matrix(q[0]), robot.inverse_dynamics(q[0], v[0], a[0])))
    yield case("large batch", lambda: robot.gravity_torque(np.tile(q, (7, 1)))[::5])


def _named(result: Any) -> dict[str, Any]:
    if isinstance(result, dict):
        return result
    if isinstance(result, tuple):
        return {str(i): value for i, value in enumerate(result)}
    return {"": result}


def _by_kernel(robot: zveno.Robot, name: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    inputs = {"link_velocities": (q, v), "link_accelerations": (q, v, a), "drive_regressor": (v, a)}[name]
    return robot.kernel(name)(*inputs)


def _model(robot: zveno.Robot) -> dict[str, Any]:
    q = robot.neutral()
    unpacked = robot.unpack(q)
    return {
        "n": [robot.n_q, robot.n_v],
        "joints": robot.joint_names,
        "links": robot.link_names,
        "frames": robot.frame_names,
        "lower": robot.lower,
        "upper": robot.upper,
        "mass": robot.mass,
        "neutral": q,
        "random": api.random_postures(robot, 4, 5),
        "random one": robot.random((), 6),
        "unpacked names": list(unpacked),
        "packed": robot.pack(unpacked),
        "parameters": api.parameter_vector(robot),
    }


def _derived(archive: Archive, name: str, robot: zveno.Robot) -> Iterator[Case]:
    q, v, a, tau, _ = _states(archive, name, robot)
    rng = np.random.default_rng(2)
    T, inertia = placement(rng, 0.2), np.diag([0.02, 0.03, 0.04])
    frame = robot.frame_names[-1]
    link = robot.link_names[2]
    ten = zveno.inertia.parameters(2.0, (0.01, 0.02, 0.03), inertia)

    def dynamics(other: zveno.Robot) -> dict[str, Any]:
        return {
            "tau": other.inverse_dynamics(q, v, a),
            "a": other.forward_dynamics(q, v, tau),
            "M": other.mass_matrix(q),
            "g": other.gravity_torque(q),
            "com": other.center_of_mass(q),
            "mass": other.mass,
        }

    def case(what: str, compute: Callable[[], dict[str, Any]]) -> Case:
        return Case(f"derived {name}/{what}", compute)

    loaded = robot.with_payload(2.5, (0.0, 0.01, 0.05), inertia, frame=frame)
    yield case("payload", lambda: dynamics(loaded))
    yield case("payload twice", lambda: dynamics(loaded.with_payload(0.5, (0.1, 0.0, 0.0), frame=frame)))
    yield case("gravity", lambda: dynamics(robot.with_gravity((0.5, 0.2, -1.62))))
    yield case("inertia", lambda: dynamics(robot.with_inertia({link: ten})))
    yield case("gravity and payload", lambda: dynamics(loaded.with_gravity((0.0, 9.81, 0.0))))
    tool = robot.with_tool(T, frame=frame)
    yield case("tool", lambda: {"T": tool.forward_kinematics(q), "J": tool.jacobian(q), "frames": tool.frame_names})
    for base in ("fixed", "free", "trunk") if name == "quadruped" else ("free", "trunk"):
        yield case(f"base {base}", lambda base=base: _on_base(archive, name, robot.with_base(base), base))
    yield case(
        "kernel with gravity",
        lambda: {"": api.kernel_with_inputs(robot, "gravity_torque", ["gravity"])(q, np.array([0.0, 1.0, -1.62]))},
    )
    yield case(
        "kernel with inertia",
        lambda: {
            "": api.kernel_with_inputs(robot, "mass_matrix", ["inertia"])(
                q, np.stack([1.1 * link.inertia for link in robot.mechanism.links])
            )
        },
    )


def _on_base(archive: Archive, name: str, robot: zveno.Robot, base: str) -> dict[str, Any]:
    q = archive.given(f"{name}/q {base}", lambda: api.random_postures(robot, N, 4))
    v, a = np.random.default_rng(5).standard_normal((2, N, robot.n_v))
    return {"tau": robot.inverse_dynamics(q, v, a), "M": robot.mass_matrix(q), "h": robot.momentum(q, v)}


def _spatial() -> Iterator[Case]:
    rng = np.random.default_rng(8)
    T, S = placement(rng), placement(rng)
    twist, vector, axis = rng.standard_normal(6), rng.standard_normal(3), np.array([0.6, 0.0, 0.8])
    t, r, i = zveno.transforms, zveno.rotations, zveno.inertia
    p = i.parameters(2.0, (0.01, -0.02, 0.05), np.diag([0.02, 0.03, 0.04]))
    yield Case(
        "spatial/transforms",
        lambda: {
            "transform": t.transform(T[:3, :3], T[:3, 3]),
            "inverse": t.inverse(T),
            "adjoint": t.adjoint(T),
            "move_twist": t.move_twist(T, twist),
            "move_wrench": t.move_wrench(T, twist),
            "exp": t.exp(twist),
            "is_transform": [t.is_transform(T), t.is_transform(T + 0.1)],
        },
    )
    yield Case(
        "spatial/rotations",
        lambda: {
            "from_rpy": r.from_rpy(vector),
            "to_rpy": r.to_rpy(T[:3, :3]),
            "from_quaternion": r.from_quaternion(twist[:4] / np.linalg.norm(twist[:4])),
            "to_quaternion": r.to_quaternion(T[:3, :3]),
            "from_axis_angle": api.from_axis_angle(axis, 0.7),
            "exp": r.exp(vector),
            "log": r.log(T[:3, :3]),
            "product": r.quaternion_product(twist[:4], twist[2:]),
            "conjugate": r.quaternion_conjugate(twist[:4]),
            "nearest_rotation": r.nearest_rotation(T[:3, :3] + 0.1 * S[:3, :3]),
            "is_rotation": [r.is_rotation(T[:3, :3]), r.is_rotation(T[:3, :3] + 0.1)],
        },
    )
    yield Case(
        "spatial/inertia",
        lambda: {
            "parameters": p,
            "mass": i.mass(p),
            "center": i.center_of_mass(p),
            "tensor": i.tensor(p),
            "tensor_at_center": i.tensor_at_center(p),
            "pseudo": i.pseudo_inertia(p),
            "from_pseudo": i.from_pseudo_inertia(i.pseudo_inertia(p)),
            "moved": api.moved_inertia(p, T),
            "problems": [len(i.problems(p)), len(i.problems(-p))],
        },
    )
