"""Inverse kinematics of whole bodies against pink with its best solver; postures; capsules.

Trajectory: hands on loops of 0.1 m at 0.5 Hz, the centre of mass swaying 30 mm, steps of 5 ms. "Limits bind": three
times the amplitude and 0.15 of the velocity limits.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import zveno

from .models import urdf
from .timing import Row

MODELS = {
    "G1": (
        "g1_29dof_rev_1_0.urdf",
        ("left_ankle_roll_link", "right_ankle_roll_link", "left_wrist_yaw_link", "right_wrist_yaw_link"),
    ),
    "TALOS": (
        "talos_reduced.urdf",
        ("left_sole_link", "right_sole_link", "gripper_left_base_link", "gripper_right_base_link"),
    ),
}
DT, STEPS = 0.005, 120
RUNS = 3


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for name, (file, frames) in MODELS.items():
        robot, model = _both(file)
        rows += _velocity(name, robot, model, frames, 1.0, 1.0)
        rows += _velocity(f"{name}, limits bind", robot, model, frames, 3.0, 0.15)
        rows += _postures(name, robot, frames)
    rows += _capsules(*_both(MODELS["TALOS"][0]))
    zveno.set_threads(None)
    return rows


def _both(file: str):
    import pinocchio as pin

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = zveno.load(urdf(file)).with_base("free")
    return robot, pin.buildModelFromUrdf(str(urdf(file)), pin.JointModelFreeFlyer())


class _Motion:
    """Targets along the trajectory, for both sides."""

    def __init__(self, robot: zveno.Robot, frames: tuple[str, ...], amplitude: float):
        self.robot, self.frames, self.amplitude = robot, frames, amplitude
        q = robot.neutral()
        knees = {
            name: 0.3
            for name in robot.joint_names
            if "knee" in name or name.endswith(("leg_left_4_joint", "leg_right_4_joint"))
        }
        bent = robot.pack(knees, q)
        low, high = robot.lower.copy(), robot.upper.copy()
        low[:7], high[:7] = -np.inf, np.inf
        self.start = np.clip(bent, low + 1e-3, high - 1e-3)
        self.poses = robot.forward_kinematics(self.start, frames=list(frames))
        self.center = robot.center_of_mass(self.start)

    def at(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        phase = 2 * np.pi * 0.5 * DT * k
        T = self.poses.copy()
        loop = self.amplitude * 0.05 * np.array([1 - np.cos(phase), np.sin(phase), np.sin(phase)])
        T[2, :3, 3] += loop
        T[3, :3, 3] += loop * [1, -1, 1]
        return T, self.center + self.amplitude * np.array([0.0, 0.015 * np.sin(phase), 0.0])


def _velocity(name: str, robot, model, frames, amplitude: float, share: float) -> list[Row]:
    motion = _Motion(robot, frames, amplitude)
    tools = {"ours": _ours(robot, frames, share), "pink": _pink(model, robot, frames, share), "mink": None}
    tools = {key: tool for key, tool in tools.items() if tool is not None}
    least = dict.fromkeys(tools, np.inf)
    error = dict.fromkeys(tools, 0.0)
    for _ in range(RUNS):  # in turns, the least of the medians
        for key, tool in tools.items():
            taken, error[key] = tool(motion)
            least[key] = min(least[key], float(np.median(taken)))
    print(name, {key: f"{1e6 * value:.0f} µs, last error {error[key]:.2e}" for key, value in least.items()})
    bar = 8.0 if share == 1.0 else 6.0
    return [Row(f"velocity step, {name}", least["ours"], least["pink"], "pink, daqp", bar)]


def _ours(robot, frames, share: float):
    from zveno import CenterOfMassTask, FrameTask, PostureTask
    from zveno.ik.whole_body.box_limits import velocity_limits

    limits = velocity_limits(robot.mechanism, True) * share
    tasks = [*(FrameTask(frame) for frame in frames), CenterOfMassTask(), PostureTask(1e-2)]
    solver = robot.velocity_ik(tasks, DT, velocity=np.where(limits > 0, limits, np.inf))

    def follow(motion: _Motion):
        q, step, taken = motion.start, None, []
        for k in range(STEPS):
            T, center = motion.at(k)
            start = time.perf_counter()
            targets = dict(zip(frames, T, strict=True))
            targets["center_of_mass"], targets["posture"] = center, motion.start
            step = solver(q, targets, before=step)
            taken.append(time.perf_counter() - start)
            assert step.solved
            q = step.q
        return taken, float(step.errors[:-1].max())

    return follow


def _pink(model, robot, frames, share: float):
    import pink
    import pinocchio as pin
    from pink.tasks import ComTask, FrameTask, PostureTask

    order = [model.joints[model.getJointId(name)].idx_q for name in robot.joint_names[1:]]
    limits = model.velocityLimit.copy()
    model.velocityLimit = limits * share

    def converted(q):
        out = np.zeros(model.nq)
        out[:3], out[3:6], out[6] = q[:3], q[4:7], q[3]
        out[order] = q[7:]
        return out

    def follow(motion: _Motion):
        q = converted(motion.start)
        configuration = pink.Configuration(model, model.createData(), q)
        tasks = [FrameTask(frame, position_cost=1.0, orientation_cost=1.0) for frame in frames]
        center_task, posture = ComTask(cost=1.0), PostureTask(cost=1e-2)
        posture.set_target(q)
        taken = []
        for k in range(STEPS):
            T, center = motion.at(k)
            start = time.perf_counter()
            for task, pose in zip(tasks, T, strict=True):
                task.set_target(pin.SE3(pose))
            center_task.set_target(center)
            v = pink.solve_ik(configuration, [*tasks, center_task, posture], DT, solver="daqp")
            configuration.integrate_inplace(v, DT)
            taken.append(time.perf_counter() - start)
        error = max(np.linalg.norm(task.compute_error(configuration)) for task in tasks)
        return taken, float(error)

    return follow


def _postures(name: str, robot, frames, n: int = 200) -> list[Row]:
    for kind in ("random joints", "a third on limits"):
        rng = np.random.default_rng(5)
        q = robot.random(n, rng)
        if kind != "random joints":
            held, side = rng.uniform(size=(2, n, robot.n_q - 7))
            ends = np.where(side < 0.5, robot.lower[7:], robot.upper[7:])
            q[:, 7:] = np.where(held < 1 / 3, ends, q[:, 7:])
        T, center = robot.forward_kinematics(q, frames=list(frames)), robot.center_of_mass(q)
        taken, solved = [], 0
        robot.ik(dict(zip(frames, T[0], strict=True)), center_of_mass=center[0])
        for k in range(n):
            start = time.thread_time()
            answer = robot.ik(dict(zip(frames, T[k], strict=True)), center_of_mass=center[k])
            taken.append(time.thread_time() - start)
            solved += answer.status == "solved"
        median, late = 1e3 * np.median(taken), 1e3 * np.percentile(taken, 99)
        print(f"postures, {name}, {kind}: {solved} of {n}, median {median:.2f} ms, p99 {late:.1f} ms of CPU")
    return []


def _capsules(robot, model) -> list[Row]:
    """60 pairs with slopes, a state of a batch."""
    from zveno.clearance import Capsules, Clearance

    every = Capsules(robot, Clearance(radius=0.04))
    links = [robot.link_names[i] for i in every.links]
    pairs = list(dict.fromkeys((links[a], links[b]) for a, b in every.pairs))
    rng = np.random.default_rng(0)
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[:60]]
    capsules = Capsules(robot, Clearance(radius=0.04, pairs=chosen))
    q = robot.random(2048, 1)
    capsules.distances_and_slopes(q)
    least = np.inf
    for _ in range(10):
        start = time.process_time()
        capsules.distances_and_slopes(q)
        least = min(least, (time.process_time() - start) / len(q))
    print(f"capsules: {capsules.layout.n} pairs with slopes {1e6 * least:.2f} µs a state")
    return []
