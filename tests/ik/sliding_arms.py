"""Robots with sliding joints, one of every class that has a closed form."""

from __future__ import annotations

import numpy as np

from zveno import Robot
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Prismatic, Revolute, assemble
from zveno.spatial.transforms import exp, transform

Z = np.array([0.0, 0.0, 1.0])


def sliding_robot(kinds: str, placements, tool, turns: float | None = None) -> Robot:
    """Joints about or along z, each placed in the one before; slides reach 2 m, turns ± `turns` or any."""
    links = [Link(f"l{i}") for i in range(len(kinds) + 1)]
    turning = Continuous() if turns is None else Revolute(Z)
    limits = {"R": Limits() if turns is None else Limits(-turns, turns), "P": Limits(-2.0, 2.0)}
    types = {"R": turning, "P": Prismatic(Z)}
    joints = [
        Joint(f"j{i}", f"l{i}", f"l{i + 1}", types[kind], T, limits=limits[kind])
        for i, (kind, T) in enumerate(zip(kinds, placements, strict=True))
    ]
    return Robot(assemble("arm", links, joints, [Frame("tool", links[-1].name, tool)]))


def placed(rng, p=None, rotation=None):
    T = exp(np.r_[rng.uniform(-0.6, 0.6, 3), rng.uniform(-2, 2, 3)])
    if p is not None:
        T[:3, 3] = p
    return T if rotation is None else transform(rotation, T[:3, 3])


def sliding_chains() -> dict[str, tuple[str, list]]:
    """Kinds and placements of an arm of each class."""
    rng, here, along = np.random.default_rng(8), np.zeros(3), np.eye(3)
    wrist = [placed(rng), placed(rng, here), placed(rng, here)]
    chains = {
        "gantry": ("PPPRRR", [*(placed(rng) for _ in range(3)), *wrist]),
        "cylindrical": ("RPPRRR", [*(placed(rng) for _ in range(3)), *wrist]),
        "stanford": ("RRPRRR", [placed(rng), placed(rng, [0, 0, 0.3]), placed(rng), *wrist]),
        "parallel": ("RRPRRR", [placed(rng), placed(rng, rotation=along), placed(rng), *wrist]),
    }
    for slide in range(4):
        kinds = "RRR"[:slide] + "P" + "RRR"[slide:]
        flat = [placed(rng, rotation=along) for _ in range(3)]
        chains[f"scara {kinds}"] = (kinds, [placed(rng), *flat])
    for kinds in ("PPP", "RPRR", "PRPRR", "RRPP", "PRPRPR", "RRRPPP"):
        chains[f"turns then slides {kinds}"] = (kinds, [placed(rng) for _ in kinds])
    return chains


def sliding_edges(robot: Robot, n: int, seed: int) -> np.ndarray:
    """About n poses of each kind: anywhere, joints near right angles, zero or limits, and beyond reach."""
    rng = np.random.default_rng(seed)
    lower, upper = (np.where(np.isfinite(b), b, s * np.pi) for b, s in ((robot.lower, -1), (robot.upper, 1)))
    q = [rng.uniform(lower, upper, (4 * n, robot.n_q))]
    for joint in range(robot.n_q):
        special = np.array([lower[joint], upper[joint], 0.0, np.pi / 2, -np.pi / 2, np.pi])
        own = rng.uniform(lower, upper, (n, robot.n_q))
        off = rng.choice([-1, 0, 1], n) * 10.0 ** rng.uniform(-12, -1, n)
        own[:, joint] = rng.choice(special, n) + off
        q.append(own)
    T = robot.forward_kinematics(np.concatenate(q))
    far = T[:n].copy()
    far[:, :3, 3] *= rng.uniform(0.0, 4.0, (n, 1))
    return np.concatenate([T, far])
