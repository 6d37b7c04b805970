"""One robot of every class of arms that has a compiled program: what its answers are compared on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from ik_answers import robot_of
from ik_arms import general_arms, known_arms
from sliding_arms import placed, sliding_chains, sliding_edges, sliding_robot

from zveno import Robot
from zveno.ik.closed_form.revolute_arms import REGIONAL
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.answer import NativeSolver, native_solver
from zveno.mechanism import Limits

TURNS = 2.5
"""rad: limits of the joints that turn, in the one of two robots of a class that has limits."""
ALONG, ACROSS = np.eye(3), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
Made = tuple[str, list[np.ndarray], np.ndarray]
"""Kinds of the joints, their placements, and the tool."""


@dataclass(frozen=True, eq=False)
class OfClass:
    """A robot of a class, once with limits and once with turns that have none."""

    name: str
    limited: Robot
    endless: Robot
    task: str

    @property
    def both(self) -> tuple[Robot, Robot]:
        """With limits, and without."""
        return self.limited, self.endless

    def solver(self, robot: Robot) -> NativeSolver:
        """The compiled program of one of the two."""
        found = native_solver(problem_of(robot, task=self.task))
        assert found is not None, f"{self.name} has no program"
        return found

    def poses(self, robot: Robot, n: int, seed: int) -> np.ndarray:
        """n poses (n, 4, 4) in random order: half anywhere, half singular, at limits, right angles and edges."""
        rng = np.random.default_rng(seed)
        lower, upper = (np.where(np.isfinite(b), b, s * np.pi) for b, s in ((robot.lower, -1), (robot.upper, 1)))
        anywhere = rng.uniform(lower, upper, (n // 2, robot.n_q))
        right_angles = rng.integers(-2, 3, (n // 20, robot.n_q)) * (np.pi / 2)
        T = robot.forward_kinematics(np.concatenate([anywhere, right_angles]))
        edges = sliding_edges(robot, n // (robot.n_q + 5) + 1, seed)
        return np.concatenate([T, rng.permutation(edges)[: n - len(T)]])[rng.permutation(n)]


@cache
def arm_classes() -> dict[str, OfClass]:
    """By name: closed forms of six turning joints both ways, with slides, points by three joints, general 6R."""
    made = [*_revolute().items(), *_sliding().items(), *_wrists().items()]
    classes = {name: _pair(name, arm, "pose") for name, arm in made}
    classes |= {name: _pair(name, arm, "position") for name, arm in _points().items()}
    general = {"manseur_doty": known_arms()["manseur_doty"]}
    general |= {f"general 6R {k}": arm for k, arm in zip("AB", general_arms(3, seed=500)[::2], strict=True)}
    for name, arm in general.items():
        classes[name] = OfClass(name, robot_of(arm, Limits(-TURNS, TURNS)), robot_of(arm), "pose")
    return classes


def _pair(name: str, made: Made, task: str) -> OfClass:
    return OfClass(name, sliding_robot(*made, TURNS), sliding_robot(*made), task)


def _revolute() -> dict[str, Made]:
    rng, here, on_axis = np.random.default_rng(21), np.zeros(3), [0.0, 0.0, 0.3]
    arms: dict[str, Made] = {}
    for name in REGIONAL:
        region = [placed(rng) for _ in range(3)]
        second = 1 if name.startswith("first") else 2
        parallel = name.endswith("parallel")
        region[second] = placed(rng, rotation=ALONG) if parallel else placed(rng, on_axis)
        wrist = [placed(rng), placed(rng, here), placed(rng, here)]
        arms[f"spherical wrist, {name}"] = "RRRRRR", [*region, *wrist], placed(rng)
    alongside = [placed(rng), placed(rng), placed(rng, rotation=ALONG), placed(rng, rotation=ALONG)]
    arms["three parallel axes"] = "RRRRRR", [*alongside, placed(rng), placed(rng, on_axis)], placed(rng)
    backwards = {f"{name}, backwards": _backwards(*arm) for name, arm in arms.items()}
    return arms | backwards


def _backwards(kinds: str, placements: list[np.ndarray], tool: np.ndarray) -> Made:
    """The arm held at its tool."""
    first, *between = placements
    turned: list[Any] = [np.linalg.inv(T) for T in (tool, *reversed(between))]
    return kinds[::-1], turned, np.linalg.inv(first)


def _sliding() -> dict[str, Made]:
    rng = np.random.default_rng(3)
    return {name: (kinds, placements, placed(rng)) for name, (kinds, placements) in sliding_chains().items()}


def _wrists() -> dict[str, Made]:
    """Three joints of any geometry, some sliding, that carry a wrist."""
    arms: dict[str, Made] = {}
    for kinds, special in (("RRP", False), ("RPR", False), ("PRR", False), ("RPR", True), ("PRP", False)):
        rng = np.random.default_rng(5)
        region = [placed(rng) for _ in kinds]
        if special:
            region[1] = placed(rng, rotation=ACROSS)
        wrist = [placed(rng), placed(rng, np.zeros(3)), placed(rng, np.zeros(3))]
        name = f"spherical wrist behind any {kinds}{', special' if special else ''}"
        arms[name] = f"{kinds}RRR", [*region, *wrist], placed(rng)
    return arms


def _points() -> dict[str, Made]:
    """Three joints; in special ones the second axis is along the first, or across it where one of them slides."""
    arms: dict[str, Made] = {}
    for kinds, special in product(("".join(letters) for letters in product("RP", repeat=3)), (False, True)):
        if special and (kinds[:2] == "PP" or kinds == "PPP"):
            continue
        rng = np.random.default_rng(3)
        placements = [placed(rng) for _ in kinds]
        if special:
            placements[1] = placed(rng, rotation=ALONG if kinds[:2] == "RR" else ACROSS)
        arms[f"point by {kinds}{', special' if special else ''}"] = kinds, placements, placed(rng)
    return arms
