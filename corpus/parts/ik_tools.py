"""Paths, whole bodies, differential inverse kinematics, maps, and what is done with solutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case
from ..robots import load
from ..store import Archive

REACHED = 1e-7
"""Iterations end where they converged."""


def cases(archive: Archive) -> Iterator[Case]:
    """Everything beside the solutions of single poses."""
    yield from _paths()
    yield from _bodies()
    yield from _solutions(archive)
    yield from _maps()


def _paths() -> Iterator[Case]:
    Curve = api.pose_path()
    for name, q0, q1 in (
        ("ur5", [0.2, -1.2, 1.3, -0.6, 0.9, 0.1], [1.0, -1.0, 1.5, -1.2, 0.7, 0.5]),
        ("puma560", [0.2, -0.6, 0.4, 0.3, 0.8, 0.1], [0.9, -0.3, 0.1, 0.5, 1.0, -0.4]),
        ("panda", [0.3, -0.4, 0.2, -1.8, 0.5, 1.9, 0.7], [0.5, -0.2, 0.1, -1.5, 0.4, 1.7, 0.5]),
    ):
        robot = load(name)
        A, B = robot.forward_kinematics(np.array([q0, q1]))
        curves = {
            "line": Curve.line(A, B, 20),
            "screw": Curve.screw(A, B, 20),
            "spline": Curve.spline([A, B, A], 20),
        }
        if name == "panda":
            curves = {"line": Curve.line(A, B, 12)}
        for words, curve in curves.items():
            yield Case(
                f"paths/{name}, {words}", lambda r=robot, c=curve, q=q0: _path(api.ik_path(r, c, q0=q)), REACHED
            )
        if name == "ur5":
            yield Case("paths/ur5, no start", lambda r=robot, c=curves["line"]: _path(api.ik_path(r, c)), REACHED)
            yield Case(
                "paths/ur5, motion",
                lambda r=robot, c=curves["line"], q=q0: _path(
                    api.ik_path(r, c, q0=q, velocity=1.0, acceleration=4.0), timed=True
                ),
                1e-6,
            )
            far = np.array(A)
            far[:3, 3] *= 2.5
            yield Case(
                "paths/ur5, out of reach",
                lambda r=robot, q=q0, A=A, far=far: _path(api.ik_path(r, Curve.line(A, far, 12), q0=q)),
                REACHED,
            )
            yield Case(
                "paths/ur5, clearance",
                lambda r=robot, c=curves["line"], q=q0: _path(
                    api.ik_path(r, c, q0=q, where=zveno.Clearance(ground=0.0))
                ),
                REACHED,
            )


def _path(path: Any, timed: bool = False) -> dict[str, Any]:
    values = {"q": path.q, "jumps": path.jumps, "unsolved": path.unsolved, "status": api.path_status(path)}
    return values | ({"times": path.times} if timed else {})


def _bodies() -> Iterator[Case]:
    biped = load("biped")
    q = biped.neutral()
    feet = ["left_foot", "right_foot"]
    soles = dict(zip(feet, api.frame_poses(biped, q, feet), strict=True))
    low = biped.center_of_mass(q) - [0, 0, 0.15]

    def squat(start: np.ndarray | None = None) -> dict[str, Any]:
        found = api.whole_body(biped, soles, center_of_mass=low, q0=start)
        reached = found.q[:1]
        return {
            "status": found.status,
            "reached": bool((found.residual < 1e-5).all()),
            "center": biped.center_of_mass(reached)[0],
            "feet": api.frame_poses(biped, reached[0], feet),
        }

    bent = biped.pack(
        {name: 0.3 if "knee" in name else -0.15 for name in biped.joint_names if "pitch" in name or "knee" in name}
    )
    yield Case("whole body/squat", squat, 1e-5)
    yield Case("whole body/squat from a start", lambda: squat(bent), 1e-5)
    panda = load("panda")
    target = panda.forward_kinematics([0.3, -0.4, 0.2, -1.8, 0.5, 1.9, 0.7])
    frame = panda.frame_names[-1]
    yield Case(
        "whole body/panda",
        lambda: {"status": api.whole_body(panda, {frame: target}).status},
    )
    yield from _differential(biped, soles)


def _differential(biped: zveno.Robot, soles: dict[str, np.ndarray]) -> Iterator[Case]:
    t = api.tasks()
    q0 = biped.pack({name: 0.4 for name in biped.joint_names if "knee" in name})
    center = biped.center_of_mass(q0)
    sets = {
        "feet and centre": [
            t.FrameTask("left_foot"),
            t.FrameTask("right_foot"),
            t.CenterOfMassTask(),
            t.PostureTask(1e-2),
        ],
        "strict foot": [t.FrameTask("left_foot", weight=np.inf), t.FrameTask("right_foot"), t.PostureTask(1e-2)],
        "momentum": [t.FrameTask("left_foot"), t.MomentumTask(weight=0.1), t.PostureTask(1e-2)],
    }
    here = dict(zip(soles, api.frame_poses(biped, q0, list(soles)), strict=True))
    for name, tasks in sets.items():
        for words, options in {
            "": {},
            ", acceleration": {"acceleration": 5.0},
            ", velocity": {"velocity": 0.05},
        }.items():

            def run(tasks=tasks, options=options, name=name) -> dict[str, Any]:
                step_for = api.differential_ik(biped, tasks, 0.01, **options)
                q, step, v, status = q0, None, [], []
                for k in range(15):
                    targets = {
                        task: here[task] for task in here if any(task == getattr(x, "frame", "") for x in tasks)
                    }
                    targets |= {"posture": q0}
                    if name == "feet and centre":
                        targets["center_of_mass"] = center + [0.01 * np.sin(0.3 * k), 0.02 * np.sin(0.2 * k), 0]
                    step = step_for(q, targets, previous=step)
                    q = step.q
                    v.append(step.v)
                    status.append(step.status)
                return {"v": np.array(v), "q": q, "status": status}

            yield Case(f"differential/{name}{words}", run, 1e-8)
    ur5 = load("ur5")
    start = np.array([0.2, -1.2, 1.3, -0.6, 0.9, 0.1])
    far = np.array(ur5.forward_kinematics(start))
    far[0, 3] += 0.3
    frame = ur5.frame_names[-1]

    def follow(**options: Any) -> dict[str, Any]:
        step_for = api.differential_ik(ur5, [t.FrameTask(frame), t.PostureTask(1e-3)], 0.02, **options)
        q, step = start, None
        for _ in range(40):
            step = step_for(q, {frame: far, "posture": start}, previous=step)
            q = step.q
        assert step is not None
        return {"q": q, "v": step.v, "status": step.status}

    yield Case("differential/ur5", follow, 1e-8)
    yield Case(
        "differential/ur5, clearance", lambda: follow(clearance=zveno.Clearance(ground=0.0), margin=0.02), 1e-8
    )
    yield Case("differential/ur5, damping", lambda: follow(damping=1e-2), 1e-8)


def _solutions(archive: Archive) -> Iterator[Case]:
    for name in ("ur5", "puma560"):
        robot = load(name)
        q = archive.given(f"{name}/q", lambda robot=robot: api.random_postures(robot, 30, 61))
        T = robot.forward_kinematics(q)
        near = q[::-1]
        yield Case(
            f"solutions/{name}, nearest",
            lambda r=robot, T=T, q=q: {"q": api.nearest_solutions(r, T, q[0])},
            REACHED,
        )
        yield Case(
            f"solutions/{name}, best conditioned", lambda r=robot, T=T: {"q": api.best_conditioned(r, T)}, REACHED
        )
        yield Case(f"solutions/{name}, windings", lambda r=robot, T=T: _listed(api.windings(r, T)), REACHED)
        yield Case(
            f"solutions/{name}, accepted",
            lambda r=robot, T=T: _listed(api.accepted(r, T, zveno.Clearance(ground=0.0))),
            REACHED,
        )
        yield Case(
            f"solutions/{name}, accepted by a function",
            lambda r=robot, T=T: _listed(api.accepted(r, T, lambda x: x[:, 0] > 0)),
            REACHED,
        )
        yield Case(
            f"solutions/{name}, narrower limits",
            lambda r=robot, T=T: _listed(api.ik(r, T, limits={r.joint_names[1]: (-1.5, 0.5)})),
            REACHED,
        )
        yield Case(
            f"solutions/{name}, local",
            lambda r=robot, T=T, near=near: {"q": api.local(r, T, near[0] + 0 * near)},
            1e-5,
        )
        yield Case(f"solutions/{name}, proved", lambda r=robot, T=T: _proved(r, T[:4]))
        yield Case(f"solutions/{name}, manipulability", lambda r=robot, q=q: {"w": api.manipulability(r, q)})
        yield Case(
            f"solutions/{name}, relative",
            lambda r=robot, T=T: _listed(api.ik(r, np.linalg.inv(T[0]) @ T, relative_to=r.link_names[1])),
            REACHED,
        )
        for task in ("position", "position+axis", "rotation"):
            target = T[:6, :3, 3] if task == "position" else T[:6]
            yield Case(
                f"tasks/{name}, {task}",
                lambda r=robot, t=target, task=task: {"status": api.ik(r, t, task=task).status.astype(str)},
            )


def _listed(answer: api.Answer) -> dict[str, Any]:
    order = np.lexsort(np.nan_to_num(np.round(answer.q, 6), nan=9e9).transpose(2, 0, 1)[::-1], axis=-1)
    q = np.take_along_axis(answer.q, order[..., None], axis=1)
    return {"q": q, "count": answer.count, "status": answer.status.astype(str)}


def _proved(robot: zveno.Robot, T: np.ndarray) -> dict[str, Any]:
    words, count = api.proof(robot, T)
    return {"words": words, "count": count}


def _maps() -> Iterator[Case]:
    for name, options in {
        "ur5": {"cell": 0.4, "orientations": 6},
        "scara": {"cell": 0.2, "orientations": 4},
        "planar2": {"cell": 0.2, "task": "position", "limits": False},
    }.items():

        def mapped(name=name, options=options) -> dict[str, Any]:
            found = api.workspace_map(load(name), **options)
            return {
                "lower": found.lower,
                "step": found.step,
                "counts": found.counts,
                "reached": found.reached,
                "solutions": found.solutions,
                "undecided": found.undecided,
            }

        yield Case(f"workspace/{name}", mapped)
