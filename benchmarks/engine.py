"""The figures promised for the engine, in one run: large trees, single calls, inverse kinematics, time-stepping.

CPU times through the public functions; the rival stands beside where there is one, else what was promised.
"""

from __future__ import annotations

import numpy as np

import zveno

from . import dynamics, ik_native, simulation, trees
from .ik import dh_arm
from .ik_native_general import known_arms, robot_of  # pyright: ignore[reportAttributeAccessIssue]
from .models import Pair
from .timing import Row, interleaved

KERNEL, CALL, ONE_OF_SIX, BATCH_OF_SIX, PANDA = 0.35e-6, 0.7e-6, 60e-6, 14e-6, 1.5
"""Seconds promised: a call of a kernel and of a robot; a pose of a general arm alone and in a batch; the first
answer for a Panda."""
LEAST = {"UR5": (30.0, 28.0), "Panda arm": (25.0, 22.0), "TALOS": (16.0, 16.0)}
"""Times as fast as Pinocchio's batches: inverse and forward dynamics."""


def run() -> list[Row]:
    """Every row of the table."""
    zveno.set_threads(1)
    rows = [*trees.run(), *_arms(), *_single_calls(), *ik_native.run(), *_general_arm(), *_panda()]
    return [*rows, simulation.million_steps()]


def _arms() -> list[Row]:
    zveno.set_threads(1)
    models = {name: arguments for name, (arguments, *_) in dynamics.MODELS.items()}
    return [row for name, given in models.items() for row in dynamics._batches(name, Pair(*given), *LEAST[name])]


def _single_calls() -> list[Row]:
    rows = dynamics._single_calls(Pair("ur5_robot.urdf"))
    promised = {"one call from Python": CALL, "one call of the kernel": KERNEL}
    limits = [
        Row(row.what, row.ours, seconds, "promised", 1.0)
        for row in rows
        for what, seconds in promised.items()
        if row.what.startswith("UR5: inverse") and row.what.endswith(what)
    ]
    return [*rows, *limits]


def _general_arm() -> list[Row]:
    """A pose of an arm without parallel or intersecting axes: limits, checks and status included."""
    rng, rows = np.random.default_rng(500), []
    for k in range(3):
        robot = dh_arm([(*rng.uniform(-0.5, 0.5, 2), rng.uniform(-np.pi, np.pi)) for _ in range(6)])
        T = robot.forward_kinematics(robot.random(1000, k))
        one = T[0].copy()
        alone = interleaved({"one": lambda r=robot, one=one: r.ik(one).status}, repeats=9)["one"]
        batch = interleaved({"batch": lambda r=robot, T=T: r.ik(T).codes}, len(T))["batch"]
        rows += [
            Row(f"general six joints {k}: one pose", alone, ONE_OF_SIX, "promised", 1.0),
            Row(f"general six joints {k}: a pose of {len(T)}", batch, BATCH_OF_SIX, "promised", 1.0),
        ]
    return [*rows, *_sixteen()]


def _sixteen() -> list[Row]:
    """An arm with up to sixteen solutions, twice as many as those above have on average."""
    arm = known_arms()["manseur_doty"]
    robot, (_, T) = robot_of(arm), arm.poses(1000)
    robot.ik(T[:2])
    times = interleaved({"one": lambda: robot.ik(T[0]).status}) | interleaved(
        {"batch": lambda: robot.ik(T).codes}, 1000, 9
    )
    return [
        Row("manseur_doty: one pose", times["one"], ONE_OF_SIX, "promised", 1.0),
        Row("manseur_doty: a pose of 1000", times["batch"], BATCH_OF_SIX, "promised", 1.0),
    ]


def _panda() -> list[Row]:
    """The sample of 48 slices, of which the times were promised, and whole self-motions, which came after it."""
    rows = []
    for what, options in (("48 slices", "samples=48"), ("whole self-motions", "")):
        cold, warm = ik_native.first_answers("panda", "ur5", options)
        rows += [
            Row(f"panda: first answer, {what}, empty cache", cold, PANDA, "promised", 1.0),
            Row(f"panda: first answer, {what}, full cache", warm, ik_native.WARM, "promised", 1.0),
        ]
    return rows
