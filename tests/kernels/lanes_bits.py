"""Prints a hash of every function of some robots, and of native programs: run with several `ZVENO_LANES`."""

import hashlib
import sys

import numpy as np

import zveno
from zveno.functions import FUNCTIONS


def hashed(*arrays):
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def functions(robot, n):
    """(name, hash) of every function of a robot at n states, with angles beyond the reach of the short formulas."""
    rng = np.random.default_rng(0)
    q = robot.random(n, 0)
    if robot.n_q == robot.n_v:
        q[-1] += 1e6
    given = {"q": q, "q0": q, "q1": robot.random(n, 1)}
    given |= {name: rng.normal(size=(n, robot.n_v)) for name in ("v", "a", "tau")}
    for name, function in FUNCTIONS.items():
        options = {"frames": tuple(robot.link_names[-2:])} if name == "frame_poses" else {}
        options |= {"frame": robot.link_names[-1]} if "frame" in function.options else {}
        values = robot.kernel(name, **options)(*(given[word] for word in function.inputs))
        yield name, hashed(*(values if isinstance(values, tuple) else (values,)))


def natively(name, n):
    """(name, hash) of all solutions of some poses, near and far, and of a simulation."""
    robot = zveno.load(name)
    poses = robot.forward_kinematics(robot.random(n, 2))
    poses[-3:, :3, 3] *= 1.6
    found = robot.ik(poses)
    yield f"ik of {name}", hashed(found.q, found.count, found.codes, found.residual, found.condition)
    each = [robot.ik(T) for T in poses[:5]]
    yield f"one by one of {name}", hashed(*(part for one in each for part in (one.q, one.residual)))


def main(what):
    rows = []
    if "functions" in what:
        for name, n in (("ur5", 13), *([("biped", 9)] if "more" in what else [])):
            rows += [(f"{name}.{function}", said) for function, said in functions(zveno.load(name), n)]
    if "programs" in what:
        for name in ("puma560", "scara", *(["ur5"] if "more" in what else [])):
            rows += natively(name, 21)
        chain = zveno.load("chain(40)")  # a loop over bodies
        q, v = chain.random((2, 11), 3)
        rows.append(
            ("loop over bodies", hashed(chain.forward_dynamics(q, v, 0 * v), chain.inverse_dynamics(q, v, v)))
        )
        arm = zveno.load("ur5")
        run = arm.simulate(arm.random(7, 1), duration=0.05, control=zveno.simulation.PD(arm.neutral(), 30.0, 5.0))
        rows.append(("simulation", hashed(run.q, run.v, run.kinetic)))
        grid = zveno.scanning.Grid.by_count(-np.ones(3), np.ones(3), 23)
        objective = zveno.scanning.compile_function(
            lambda x: zveno.ops.sin(x[0] * x[1]) + zveno.ops.exp(x[2]) * x[0], 3
        )
        rows.append(("scan", hashed(zveno.scanning.extrema(grid, objective).values)))
    for name, said in rows:
        print(f"{name}|{said}")


if __name__ == "__main__":
    main(sys.argv[1:])
