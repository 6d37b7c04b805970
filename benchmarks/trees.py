"""Large random trees of revolute joints: build time in a fresh process, cost a body, and Pinocchio beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np
import pinocchio as pin

import zveno
from zveno.mechanism import Joint, Link, Mechanism, Revolute, assemble
from zveno.spatial import inertia

from .timing import Row, interleaved

SIZES = (100, 1000, 10_000)
NANOSECONDS_A_BODY = 45
SECONDS_TO_BUILD = 0.3
SECONDS_TO_BUILD_200 = 1.0


def random_tree(n: int, seed: int = 1, branching: float = 0.5) -> Mechanism:
    """n revolute joints about z, placed in no special way; each on the last body or on one of the five before."""
    rng = np.random.default_rng(seed)
    near = [int(rng.integers(max(0, k - 5), k)) for k in range(1, n)]
    parents = [-1, *(near[k - 1] if rng.random() < branching else k - 1 for k in range(1, n))]
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(parents):
        children.setdefault(parent, []).append(k)
    links, joints, waiting = [Link("base", inertia_given=False)], [], [0]
    while waiting:
        k = waiting.pop()
        waiting += reversed(children.get(k, []))
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Q * np.linalg.det(Q), 0.1 * rng.normal(size=3)
        B = 0.1 * rng.normal(size=(3, 3))
        own = inertia.parameters(rng.uniform(0.5, 2), 0.1 * rng.normal(size=3), B @ B.T + 0.02 * np.eye(3))
        parent = "base" if parents[k] < 0 else f"link{parents[k]}"
        links.append(Link(f"link{k}", own))
        joints.append(Joint(f"joint{k}", parent, f"link{k}", Revolute(), T))
    return assemble(f"tree of {n}", links, joints)


def pinocchio_model(mechanism: Mechanism) -> pin.Model:
    """The same tree, its joints in the same order."""
    model = pin.Model()
    numbers = {mechanism.links[0].name: 0}
    for joint, link in zip(mechanism.joints, mechanism.links[1:], strict=True):
        T = joint.T_parent_joint
        place = pin.SE3(T[:3, :3].copy(), T[:3, 3].copy())
        number = model.addJoint(numbers[joint.parent], pin.JointModelRZ(), place, joint.name)
        numbers[joint.child] = number
        p = link.inertia
        own = pin.Inertia(p[0], inertia.center_of_mass(p), inertia.tensor_at_center(p))
        model.appendBodyToJoint(number, own, pin.SE3.Identity())
    model.gravity.linear = np.asarray(mechanism.gravity)
    return model


def build_seconds(n: int, function: str) -> float:
    """CPU seconds from the mechanism to the first result, in a process of its own with an empty cache.

    LLVM and NumPy are loaded before, by a kernel of another robot.
    """
    script = f"""
import time
import numpy as np
import zveno
from benchmarks.trees import random_tree
mechanism = random_tree({n})
zveno.set_threads(1)
zveno.load("ur5").energy(np.zeros(6), np.zeros(6))
robot, zeros = zveno.Robot(mechanism), np.zeros({n})
start = time.process_time()
robot.{function}(*[zeros] * {1 if function == "mass_matrix" else 3})
print(time.process_time() - start)
"""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"ZVENO_CACHE_DIR": folder, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", script]
        return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for n in SIZES:
        seconds = build_seconds(n, "forward_dynamics")
        rows.append(Row(f"{n} bodies: forward dynamics built", seconds, SECONDS_TO_BUILD, "limit", 1))
        rows += _batch(random_tree(n))
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        rows.append(
            Row(f"200 bodies: {function} built", build_seconds(200, function), SECONDS_TO_BUILD_200, "limit", 1)
        )
    zveno.set_threads(None)
    return rows


def _batch(mechanism: Mechanism) -> list[Row]:
    robot, n = zveno.Robot(mechanism), len(mechanism.joints)
    batch = max(16, min(1024, 400_000 // n) // 8 * 8)
    rng = np.random.default_rng(0)
    q, v, tau = (scale * rng.normal(size=(batch, n)) for scale in (1.0, 0.1, 1.0))
    out = np.empty_like(v)
    calls = {"ours": lambda: robot.forward_dynamics(q, v, tau, out=out)}
    if n <= 100:  # the data of a pool grow with the square of the bodies
        pool = pin.ModelPool(pinocchio_model(mechanism), 1)
        few = [np.asfortranarray(x[:256].T) for x in (q, v, tau)]
        theirs = np.zeros((n, 256), order="F")
        calls["pin"] = lambda: pin.abaInParallel(1, pool, *few, theirs)
    times = interleaved(calls, repeats=9)
    limit = NANOSECONDS_A_BODY * 1e-9
    rows = [Row(f"{n} bodies: forward dynamics, a body", times["ours"] / batch / n, limit, "limit", 1)]
    if n <= 100:
        assert abs(theirs.T - out[:256]).max() <= 1e-9 * abs(out).max()
        rows.append(
            Row(f"{n} bodies: forward dynamics", times["ours"] / batch, times["pin"] / 256, "abaInParallel", 7.0)
        )
    return rows
