"""Kinematics against Pinocchio in a Python loop, a memory fill and an empty gufunc; threads; build and cache."""

from __future__ import annotations

import statistics
import tempfile
import time

import numpy as np
import pinocchio as pin

import zveno
from zveno.kernels.compile import compiled_program
from zveno.kernels.trace import trace

from .models import Pair
from .timing import Row, interleaved


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for name, file in (("UR5", "ur5_robot.urdf"), ("TALOS", "talos_reduced.urdf")):
        rows += _poses(name, Pair(file))
    pair = Pair("ur5_robot.urdf")
    rows += _single(pair)
    zveno.set_threads(None)
    return rows + _threads(Pair("ur5_robot.urdf", 100_000)) + _building()


def _poses(name: str, pair: Pair) -> list[Row]:
    robot, model, data = pair.robot, pair.model, pair.data
    frame = robot.link_names[-1]
    pin_frame = model.getFrameId(frame)
    T, J = np.empty((pair.n, 4, 4)), np.empty((pair.n, 6, robot.n_v))
    few = pair.pin_states[0][:64]

    def poses():
        for q in few:
            pin.framesForwardKinematics(model, data, q)

    def jacobians():
        for q in few:
            pin.computeFrameJacobian(model, data, q, pin_frame, pin.LOCAL_WORLD_ALIGNED)

    times = interleaved(
        {
            "fk": lambda: robot.forward_kinematics(pair.q, frame, out=T),
            "pin fk": poses,
            "jacobian": lambda: robot.jacobian(pair.q, frame, out=J),
            "pin jacobian": jacobians,
        }
    )
    ours = {key: value / pair.n for key, value in times.items()}
    return [
        Row(
            f"{name}: tool pose, batch 1024", ours["fk"], times["pin fk"] / len(few), "framesForwardKinematics", 20
        ),
        Row(
            f"{name}: Jacobian, batch 1024",
            ours["jacobian"],
            times["pin jacobian"] / len(few),
            "computeFrameJacobian",
        ),
        _all_links(name, pair),
    ]


def _all_links(name: str, pair: Pair) -> Row:
    """Poses of every link for more states than the caches hold: writing them is what takes the time."""
    robot = pair.robot
    n = int(1e8 / (robot.mechanism.n_links * 128))
    q = np.resize(pair.q, (n, robot.n_q))
    poses = np.empty((n, robot.mechanism.n_links, 4, 4))
    calls = {"links": lambda: robot.link_poses(q, out=poses), "fill": lambda: poses.fill(1.0)}
    times = interleaved(calls, n, repeats=9)
    return Row(f"{name}: poses of all links, 100 MB", times["links"], times["fill"], "memory fill", 0.7)


def _single(pair: Pair) -> list[Row]:
    robot = pair.robot
    q = pair.q[0].copy()
    frame = robot.link_names[-1]
    empty, batch = (
        compiled_program(trace(lambda x: np.array([x[0]]), {"x": (robot.n_q,)})),
        q[None],
    )  # batches are gufuncs
    times = interleaved(
        {
            "fk": lambda: robot.forward_kinematics(q, frame),
            "jacobian": lambda: robot.jacobian(q, frame),
            "empty": lambda: empty(batch),
        }
    )
    return [
        Row("UR5: tool pose, one call", times["fk"], times["empty"], "empty gufunc", 1 / 1.5),
        Row("UR5: Jacobian, one call", times["jacobian"], times["empty"], "empty gufunc", 1 / 1.5),
    ]


def _threads(pair: Pair) -> list[Row]:
    robot, out = pair.robot, np.empty((pair.n, 6))

    def call():
        robot.inverse_dynamics(pair.q, pair.v, pair.a, out=out)

    times = {"one": [], "two": []}
    for _ in range(9):  # changing the number of threads is not what is measured
        for name, n in (("one", 1), ("two", 2)):
            zveno.set_threads(n)
            times[name].append(interleaved({"it": call}, pair.n, repeats=1, clock=time.perf_counter)["it"])
    zveno.set_threads(None)
    times = {name: statistics.median(values) for name, values in times.items()}
    return [Row("UR5: inverse dynamics, 1e5 states, two cores", times["two"], times["one"], "one core", 1.8)]


def _building() -> list[Row]:
    """Cold build and warm load of all kinematics kernels of a seven-joint arm; the rival column is the promise."""
    import os

    def build(robot):
        start = time.perf_counter()
        for name in ("forward_kinematics", "jacobian", "velocity", "acceleration", "link_poses", "center_of_mass"):
            robot.kernel(name)
        return time.perf_counter() - start

    saved = os.environ.get("ZVENO_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZVENO_CACHE_DIR"] = folder
        cold = build(zveno.load("panda"))
        warm = min(build(zveno.load("panda")) for _ in range(3))
    os.environ.pop("ZVENO_CACHE_DIR")
    if saved is not None:
        os.environ["ZVENO_CACHE_DIR"] = saved
    return [
        Row("Panda: all kinematics kernels, cold", cold, 0.5, "promised 0.5 s", 1.0),
        Row("Panda: all kinematics kernels, from the cache", warm, 0.03, "promised 30 ms", 1.0),
    ]
