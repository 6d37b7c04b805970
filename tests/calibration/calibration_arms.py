"""Arms, truths and simulated campaigns for tests of calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import zveno
from zveno.calibration._identifiability import identifiability
from zveno.calibration._postures import imagined
from zveno.calibration.measurements._fit_problem import fit_problem, instrument_numbers
from zveno.calibration.measurements.datasets import Dataset, in_order, sides
from zveno.calibration.models import redundant_model
from zveno.mechanism import Frame, Joint, Limits, Link, Mechanism, Prismatic, Revolute, assemble
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

TWO_LINKS = "Rz(q1) Tx(0.25) Rz(q2) Tx(0.16)"
FAR = transform(exp(np.array([0.4, 1.1, -0.7])), np.array([1.2, -0.8, 0.3]))
"""Where a tracker or a board stands."""
NEAR = transform(exp(np.array([-1.0, 0.2, 2.0])), np.array([0.05, 0.02, 0.1]))
"""How a camera or a board is mounted on the hand."""
TOOL = transform(exp(np.array([0.3, -0.2, 0.4])), np.array([0.03, 0.05, 0.08]))


def arm(name: str = "puma560") -> zveno.Robot:
    """A robot with a tool beside its last axis."""
    return zveno.load(name).with_tool(TOOL)


def random_chain(seed: int) -> Mechanism:
    """A chain of two to six joints with right angles, parallel or crossing axes, or anything, and a tool
    anywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    links, joints = [Link("base")], []
    for k in range(1, n + 1):
        kind = Revolute() if rng.random() < 0.75 else Prismatic()
        p = rng.uniform(-0.4, 0.4, 3) * (rng.random(3) < 0.6)
        turn = rng.integers(4)
        if turn == 0:
            R = np.eye(3)
        elif turn == 1:
            R = np.round(exp(np.pi / 2 * np.eye(3)[rng.integers(3)]))
        else:
            R = exp(rng.normal(size=3))
        joints.append(Joint(f"j{k}", links[-1].name, f"l{k}", kind, transform(R, p), limits=Limits(-2.5, 2.5)))
        links.append(Link(f"l{k}"))
    p = rng.uniform(-0.3, 0.3, 3) * (rng.random(3) < 0.5)
    return assemble(f"chain{seed}", links, joints, [Frame("tool", links[-1].name, transform(None, p))])


def truth(robot: zveno.Robot, names, rng, length: float = 1e-3, angle: float = 3e-3, frames=None) -> np.ndarray:
    """Deviations (P,) of a robot that is not as drawn."""
    model = redundant_model(robot.mechanism, frames)
    values = np.zeros(len(model.terms))
    for name in names:
        if name not in model.numbers:
            continue  # a frame that is of interest, such as a camera's
        term = model.term(name)
        values[model.numbers[name]] = rng.normal() * (length if term.unit == "m" else angle)
    return values


def simulated(
    robot, kind, values, n: int, rng, sigma: dict[str, float], frames=None, joint_terms=(), q=None
) -> Dataset:
    """A campaign measured on the true robot, with noise.

    Contacts are made by solving for postures in which the true robot touches; then joints are read with noise that
    moves the point by about sigma.
    """
    model = redundant_model(robot.mechanism, kind.frames, joint_terms)
    if kind.implicit:
        return _contacts(robot, kind, model, values, n, rng, sigma)
    q = robot.random(n, rng) if q is None else q
    things = len(kind.right) * len(kind.targets)
    tau = robot.gravity_torque(q) if "compliance" in joint_terms else None
    problem = fit_problem(model, [Dataset(kind, q, np.zeros((n, things, kind.n_data)), (), "x", np.arange(n))])
    problem = problem.placed(frames or {})
    part = problem.parts[0]
    part = part if tau is None else replace(part, tau=tau)
    part = replace(part, side=sides(robot.mechanism, in_order(q), n))
    T, _ = problem.poses(part, values, q, compiled=False)
    P = problem.frames[part.left] @ T[part.posture] @ problem.frames[part.right]
    P = _disturbed(P, kind, rng, sigma)
    numbers = instrument_numbers(part, problem.frames)
    y = kind.reading(P, problem.frames[part.target], *numbers).reshape(n, things, kind.n_data)
    for name in ("distance", "pixel"):
        if name in sigma:
            y = y + rng.normal(size=y.shape) * sigma[name]
    return Dataset(kind, q, y)


def measured_puma(kind, n: int, sigma: dict[str, float], frames=None):
    """PUMA, and a campaign measured on one that is off in all that the kind can tell."""
    robot, rng = arm("puma560"), np.random.default_rng(0)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    return robot, simulated(robot, kind, values, n, rng, sigma, frames)


def _disturbed(P, kind, rng, sigma):
    P = P.copy()
    P[:, :3, 3] += rng.normal(size=(len(P), 3)) * sigma.get("position", 0.0)
    for name in ("rotation", "direction"):
        if name in sigma:
            turns = np.array([exp(w) for w in rng.normal(size=(len(P), 3)) * sigma[name]])
            P[:, :3, :3] = P[:, :3, :3] @ turns
    return P


def _contacts(robot, kind, model, values, n, rng, sigma):
    """Postures in which the true robot touches, found from those in which the nominal one does."""
    problem = imagined(model, kind, n, int(rng.integers(1 << 30)))
    part = problem.parts[0]
    noise = rng.normal(size=(len(part.q), kind.n_data)) * next(iter(sigma.values()))
    q = part.q.copy()
    for _ in range(12):
        T, _ = problem.poses(part, values, q, compiled=False)
        r, by_T, *_ = problem.rows_of(replace(part, y=noise), T, problem.frames)
        slope = by_T @ problem.by_joints(part, values, q)
        q = q - (np.linalg.pinv(slope) @ r[..., None])[..., 0]
    return Dataset(kind, q, groups=problem.campaigns[0].groups)


def rank_by_differences(robot, kind, n: int, seed: int = 5, h: float = 1e-5) -> int:
    """Independent parameters and wanted unknowns beyond those that are in the way, from differences of residuals.

    The derivatives of the problem itself must be the same.
    """
    model = redundant_model(robot.mechanism, kind.frames)
    problem = imagined(model, kind, n, seed)
    P, rows = len(model.terms), problem.noise >= 0
    _, exact = problem.evaluate(problem.nominal, problem.frames, compiled=False, exact=True)

    def residual(step):
        frames = problem.moved(problem.frames, step)
        T, _ = problem.poses(problem.parts[0], step[:P], problem.parts[0].q, compiled=False)
        part = problem.parts[0]
        if not kind.implicit:
            read = problem.poses(part, problem.nominal, part.q, compiled=False)[0][part.posture]
            read = problem.frames[part.left] @ read @ problem.frames[part.right]
            y = kind.reading(read, problem.frames[part.target], *instrument_numbers(part, problem.frames))
            part = replace(part, y=y)
        return problem.rows_of(part, T[part.posture], frames)[0][part.known]

    steps = h * np.eye(problem.n_columns)
    J = np.array([(residual(step) - residual(-step)) / (2 * h) for step in steps]).T
    np.testing.assert_allclose(J, exact[rows], atol=1e-8 * max(1.0, abs(J).max()))
    N, A = J[:, problem.columns_of(False)], J[:, [*range(P), *problem.columns_of(True)]]
    N = N / np.maximum(np.linalg.norm(N, axis=0), 1e-12)
    Q, s, _ = np.linalg.svd(N.reshape(len(J), -1), full_matrices=False)
    Q = Q[:, : int((s > 1e-7).sum())]
    size = np.linalg.norm(A, axis=0)
    A = (A - Q @ (Q.T @ A))[:, size > 1e-6 * size.max()] / size[size > 1e-6 * size.max()]
    s = np.linalg.svd(A, compute_uv=False)
    return int((s > 1e-6 * s[0]).sum())
