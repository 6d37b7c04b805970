"""Inverse kinematics of whole bodies against pink and mink with the better of their solvers; postures; capsules.

Trajectory: hands on loops of 0.1 m at 0.5 Hz, the centre of mass swaying 30 mm, steps of 5 ms. "Limits bind": three
times the amplitude and 0.15 of the velocity limits.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import zveno
from zveno import ik

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
SOLVERS = ("daqp", "quadprog")
"""Of pink and mink; the faster one counts."""


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for name, (file, frames) in MODELS.items():
        robot, model = _both(file)
        rows += _velocity(name, robot, model, frames, 1.0, 1.0)
        rows += _velocity(f"{name}, limits bind", robot, model, frames, 3.0, 0.15)
        rows += _postures(name, robot, frames)
        rows += _programs(robot, frames)
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
        self.poses = robot.frame_poses(self.start, frames=list(frames))
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
    tools = {"ours": _ours(robot, frames, share)}
    for solver in SOLVERS:
        tools[f"pink, {solver}"] = _pink(model, robot, frames, share, solver)
        tools[f"mink, {solver}"] = _mink(robot, frames, share, solver)
    least = dict.fromkeys(tools, np.inf)
    error = dict.fromkeys(tools, 0.0)
    for _ in range(RUNS):  # in turns, the least of the medians
        for key, tool in tools.items():
            taken, error[key] = tool(motion)
            least[key] = min(least[key], float(np.median(taken)))
    print(name, {key: f"{1e6 * value:.0f} µs, last error {error[key]:.2e}" for key, value in least.items()})
    bars = {"pink": 8.0 if share == 1.0 else 6.0, "mink": 6.0 if share == 1.0 else None}
    rows = []
    for rival, bar in bars.items():
        best = min((key for key in tools if key.startswith(rival)), key=least.__getitem__)
        rows.append(Row(f"velocity step, {name}", least["ours"], least[best], best, bar))
    return rows


def _ours(robot, frames, share: float):
    from zveno.ik import CenterOfMassTask, FrameTask, PostureTask
    from zveno.ik._whole_body.box_limits import velocity_limits

    limits = velocity_limits(robot.mechanism, True) * share
    tasks = [*(FrameTask(frame) for frame in frames), CenterOfMassTask(), PostureTask(1e-2)]
    solver = ik.DifferentialIK(robot, tasks, DT, velocity=np.where(limits > 0, limits, np.inf))

    def follow(motion: _Motion):
        q, step, taken = motion.start, None, []
        for k in range(STEPS):
            T, center = motion.at(k)
            start = time.thread_time()
            targets = dict(zip(frames, T, strict=True))
            targets["center_of_mass"], targets["posture"] = center, motion.start
            step = solver(q, targets, previous=step)
            taken.append(time.thread_time() - start)
            assert step.solved
            q = step.q
        return taken, float(solver(q, targets).errors[: len(frames)].max())  # errors are those before a step

    return follow


def _pink(model, robot, frames, share: float, solver: str):
    import pink
    import pinocchio as pin
    from pink.tasks import ComTask, FrameTask, PostureTask

    order = [model.joints[model.getJointId(name)].idx_q for name in robot.joint_names[1:]]
    model = model.copy()
    model.velocityLimit = model.velocityLimit * share

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
            start = time.thread_time()
            for task, pose in zip(tasks, T, strict=True):
                task.set_target(pin.SE3(pose))
            center_task.set_target(center)
            v = pink.solve_ik(configuration, [*tasks, center_task, posture], DT, solver=solver)
            configuration.integrate_inplace(v, DT)
            taken.append(time.thread_time() - start)
        error = max(np.linalg.norm(task.compute_error(configuration)) for task in tasks)
        return taken, float(error)

    return follow


def _mink(robot, frames, share: float, solver: str):
    import mink

    model = _mujoco_model(robot)
    names = robot.joint_names[1:]
    order = [model.joint(name).qposadr[0] for name in names]
    fastest = {name: float(robot.mechanism.joint(name).limits.velocity[0]) * share for name in names}
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, fastest)]

    def follow(motion: _Motion):
        configuration = mink.Configuration(model)
        q = configuration.q.copy()
        q[:7], q[order] = motion.start[:7], motion.start[7:]
        configuration.update(q)
        tasks = [mink.FrameTask(frame, "body", 1.0, 1.0) for frame in frames]
        center_task, posture = mink.ComTask(1.0), mink.PostureTask(model, 1e-2)
        posture.set_target_from_configuration(configuration)
        taken = []
        for k in range(STEPS):
            T, center = motion.at(k)
            start = time.thread_time()
            for task, pose in zip(tasks, T, strict=True):
                task.set_target(mink.SE3.from_matrix(pose))
            center_task.set_target(center)
            every = [*tasks, center_task, posture]
            v = mink.solve_ik(configuration, every, DT, solver, damping=1e-6, limits=limits)
            configuration.integrate_inplace(v, DT)
            taken.append(time.thread_time() - start)
        return taken, float(max(np.linalg.norm(task.compute_error(configuration)) for task in tasks))

    return follow


def _mujoco_model(robot):
    """The robot in MuJoCo, from the file that we write: frames are bodies, the base is free."""
    import re
    import tempfile
    from pathlib import Path

    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        text = robot.with_base("fixed").write(Path(folder) / "robot.urdf").read_text()
    for part in ("visual", "collision"):
        text = re.sub(rf"<{part}.*?</{part}>", "", text, flags=re.DOTALL)
    compiler = '<compiler fusestatic="false" balanceinertia="true" boundmass="1e-6" boundinertia="1e-9"/>'
    text = re.sub(r"(<robot[^>]*>)", rf"\1<mujoco>{compiler}</mujoco>", text, count=1)
    specification = mujoco.MjSpec.from_string(text)
    specification.worldbody.first_body().add_freejoint()
    return specification.compile()


def _postures(name: str, robot, frames, n: int = 1000) -> list[Row]:
    for kind in ("random joints", "a third on limits"):
        rng = np.random.default_rng(5)
        q = robot.random(n, rng)
        if kind != "random joints":
            held, side = rng.uniform(size=(2, n, robot.n_q - 7))
            ends = np.where(side < 0.5, robot.lower[7:], robot.upper[7:])
            q[:, 7:] = np.where(held < 1 / 3, ends, q[:, 7:])
        T, center = robot.frame_poses(q, frames=list(frames)), robot.center_of_mass(q)
        taken, solved = [], 0
        ik.whole_body(robot, dict(zip(frames, T[0], strict=True)), center_of_mass=center[0])
        for k in range(n):
            start = time.thread_time()
            answer = ik.whole_body(robot, dict(zip(frames, T[k], strict=True)), center_of_mass=center[k])
            taken.append(time.thread_time() - start)
            solved += answer.status == "solved"
        median, late = 1e3 * np.median(taken), 1e3 * np.percentile(taken, 99)
        print(f"postures, {name}, {kind}: {solved} of {n}, median {median:.2f} ms, p99 {late:.1f} ms of CPU")
    return []


def _programs(robot, frames, n: int = 100_000, every: int = 1) -> list[Row]:
    """Programs of steps from random postures with binding limits: failures, and the distance to daqp's answers."""
    import daqp

    from zveno.fit.quadratic import solve_quadratic
    from zveno.ik import CenterOfMassTask, FrameTask, PostureTask
    from zveno.ik._whole_body.velocity_rows import velocity_terms
    from zveno.kernels.compile import compiled

    tasks = [*(FrameTask(frame) for frame in frames), CenterOfMassTask(), PostureTask(1e-2)]
    solver = ik.DifferentialIK(robot, tasks, DT)
    problem, n_v = solver.problem, robot.n_v
    sizes = {"q": robot.n_q, "v_before": n_v, "targets": problem.n_targets, "weights": 3 * len(tasks)}
    sizes |= {"limits": 4 * n_v, "corners": 1, "settings": 5}
    names = ("H", "g", "lower", "upper", "errors")
    terms = compiled(velocity_terms, {k: (v,) for k, v in sizes.items()}, constants=(problem,), outputs=names)
    rng, failed, worst, off = np.random.default_rng(0), 0, 0.0, 0.0
    block, side = 1000, None
    for first in range(0, n, block):
        q = robot.random(block, rng)
        q[:, 7:] += np.where(
            rng.uniform(size=(block, n_v - 6)) < 0.05, 0.02 * rng.normal(size=(block, n_v - 6)), 0.0
        )
        goal = robot.integrate(q, 0.05 * rng.normal(size=(block, n_v)))
        T = robot.frame_poses(goal, frames=list(frames))[..., :3, :].reshape(block, -1)
        targets = np.concatenate([T, robot.center_of_mass(goal), goal], axis=1)
        settings, limits = solver._settings, solver._limits.copy()
        limits[2 * n_v : 3 * n_v] *= rng.uniform(0.1, 1.0)
        H, g, low, high, _ = terms(q, np.zeros(n_v), targets, solver._weights, limits, np.zeros(1), settings)
        answer = solve_quadratic(H, g, low, high, warm=side)
        side = answer.side
        failed += int((~answer.solved).sum())
        slope = np.einsum("kij,kj->ki", H, answer.x) + g
        size = 1.0 + abs(g).max(axis=1, keepdims=True)
        signed = np.where(low == high, 0.0, np.maximum(answer.side * slope, 0.0))
        wrong = np.where(answer.side == 0, abs(slope), signed) / size
        outside = np.maximum(low - answer.x, answer.x - high)
        off = max(off, float(wrong.max()), float(outside.max()))
        for k in range(first % every, block, every):
            below, above = np.clip(low[k], -1e30, 1e30), np.clip(high[k], -1e30, 1e30)
            program = (H[k], g[k], np.zeros((0, n_v)), above, below, np.zeros(n_v, dtype=np.int32))
            x, _, flag, _ = daqp.solve(*program, primal_tol=1e-12, dual_tol=1e-12)
            worst = max(worst, float(abs(x - answer.x[k]).max())) if flag == 1 else worst
    print(f"{n} programs: {failed} failures, conditions of the optimum to {off:.1e}, daqp's answers to {worst:.1e}")
    return []


def _capsules(robot, model, n: int = 1024) -> list[Row]:
    """60 pairs of capsules with slopes, a state of a batch; coal computes the same distances, without slopes."""
    from zveno.clearance import Capsules, Clearance

    every = Capsules(robot, Clearance(radius=0.04))
    alone = [k for k, i in enumerate(every.links) if (every.links == i).sum() == 1]  # one capsule on its link
    pairs = [(a, b) for a, b in every.pairs.tolist() if a in alone and b in alone]
    rng = np.random.default_rng(0)
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[:60]]
    names = [tuple(robot.link_names[every.links[k]] for k in pair) for pair in chosen]
    capsules = Capsules(robot, Clearance(radius=0.04, pairs=names))
    assert capsules.layout.n == 60
    q = robot.random(n, 1)
    d = capsules.distances_and_slopes(q)[0]
    by_coal = _coal(robot, model, every, chosen)
    for k in range(5):
        theirs = [result.min_distance for result in by_coal(q[k])]
        assert np.allclose(np.sort(theirs), np.sort(d[k]), atol=1e-6)
    ours, theirs = np.inf, np.inf
    for _ in range(10):
        start = time.thread_time()
        capsules.distances_and_slopes(q)
        ours = min(ours, (time.thread_time() - start) / n)
        start = time.thread_time()
        for state in q[:100]:
            by_coal(state)
        theirs = min(theirs, (time.thread_time() - start) / 100)
    print(f"capsules: 60 pairs with slopes {1e6 * ours:.2f} µs a state of {n}, coal without {1e6 * theirs:.1f} µs")
    return [Row("60 capsule pairs with slopes", ours, theirs, "coal through Pinocchio, distances only", None)]


def _coal(robot, model, every, chosen):
    """Results of `pinocchio.computeDistances` for the same capsules, a function of q."""
    import pinocchio as pin
    from pinocchio import coal

    geometry, numbers = pin.GeometryModel(), {}
    for k in sorted({k for pair in chosen for k in pair}):
        start, end = every.ends[k]
        length = float(np.linalg.norm(end - start))
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = zveno.rotations.z_to((end - start) / length), (start + end) / 2
        frame = model.frames[model.getFrameId(robot.link_names[every.links[k]], pin.FrameType.BODY)]
        shape = coal.Capsule(float(every.radii[k]), length)
        placed = pin.GeometryObject(f"capsule {k}", frame.parentJoint, frame.placement * pin.SE3(T), shape)
        numbers[k] = geometry.addGeometryObject(placed)
    for a, b in chosen:
        geometry.addCollisionPair(pin.CollisionPair(numbers[a], numbers[b]))
    data, shapes = model.createData(), pin.GeometryData(geometry)
    order = [model.joints[model.getJointId(name)].idx_q for name in robot.joint_names[1:]]
    values = np.zeros(model.nq)

    def distances(q):
        values[:3], values[3:6], values[6] = q[:3], q[4:7], q[3]
        values[order] = q[7:]
        pin.computeDistances(model, data, geometry, shapes, values)
        return shapes.distanceResults

    return distances
