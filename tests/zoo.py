"""Twelve mechanisms that tests of compiled code share, so that each kernel is built once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import zveno
from mechanisms import random_mechanism, random_state
from zveno.mechanism import Mechanism
from zveno.mechanism.base import with_base

ZOO: dict[str, Callable[[], Mechanism]] = {
    "every joint type": lambda: random_mechanism(5, n=9, drives=True),
    "one joint": lambda: random_mechanism(14, n=1, kinds=("revolute",)),
    "scara": lambda: zveno.load("scara").mechanism,
    "puma560": lambda: zveno.load("puma560").mechanism,
    "ur5": lambda: zveno.load("ur5").mechanism,
    "stanford": lambda: zveno.load("stanford").mechanism,
    "panda": lambda: zveno.load("panda").mechanism,
    "arm on a free base": lambda: with_base(random_mechanism(11, n=4, kinds=("revolute", "prismatic")), "free"),
    "balls and helices": lambda: random_mechanism(
        12, n=4, kinds=("spherical", "helical"), branching=0.0, mimic=0.0
    ),
    "followers": lambda: random_mechanism(13, n=8, kinds=("revolute", "prismatic"), mimic=0.6),
    "biped": lambda: zveno.load("biped").mechanism,
    "quadruped": lambda: zveno.load("quadruped").mechanism,
}
"""By name: built-in robots, and random trees with what these have not. The first has everything but a free base."""


@cache
def robot(name: str) -> zveno.Robot:
    """A robot of the zoo."""
    return zveno.Robot(ZOO[name]())


def states(name: str, n: int = 3) -> list[np.ndarray]:
    """q, v, a of a robot of the zoo, `n` states each."""
    drawn = [random_state(robot(name).mechanism, k) for k in range(n)]
    return [np.stack(part) for part in zip(*drawn, strict=True)]
