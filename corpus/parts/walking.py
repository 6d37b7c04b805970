"""Walking: short walks of the quadruped and the biped, supports and grounds. Walks are compared to 1e-6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import api
from ..cases import Case
from ..robots import load
from ..store import Archive

W = api.walking_names()
WALKED = 1e-6


def cases(archive: Archive) -> Iterator[Case]:
    """Gaits, pushes and grounds."""
    yield Case("quadruped/static", lambda: _walk("quadruped", W.StaticGait(steps=2)), WALKED)
    yield Case("quadruped/dynamic", lambda: _walk("quadruped", W.DynamicGait(steps=4)), WALKED)
    yield Case("biped/dynamic", lambda: _walk("biped", W.DynamicGait(steps=3)), WALKED)
    push = [W.Push(0.6, (0.0, 3.0, 0.0))]
    ground = W.uneven_ground(0.01, rng=1)
    yield Case(
        "biped/pushed on tiles",
        lambda: _walk("biped", W.DynamicGait(steps=2), pushes=push, ground=ground),
        WALKED,
    )
    yield Case("supports/polygon", _supports)
    yield Case("supports/ground", lambda: {"heights": W.uneven_ground(0.02, rng=3).heights})
    for name in ("biped", "quadruped"):
        yield Case(f"supports/stance of {name}", lambda name=name: _stance(name))


def _walk(name: str, gait: Any, **options: Any) -> dict[str, Any]:
    robot = load(name)
    walk = W.simulate_walk(robot, *api.default_stance(robot), gait, **options)
    run = walk.trajectory
    return {
        "status": api.walk_status(walk),
        "q": run.q[::20],
        "tau": run.tau[::20],
        "footholds": walk.footholds,
        "steps": walk.steps,
        "times": walk.step_times,
        "margin": walk.margin[::20],
    }


def _supports() -> dict[str, Any]:
    points = np.random.default_rng(51).standard_normal((12, 2))
    polygon = W.support_polygon(points)
    return {"polygon": polygon, "margin": W.stability_margin(polygon, points * 1.1)}


def _stance(name: str) -> dict[str, Any]:
    feet, q0 = api.default_stance(load(name))
    return {"feet": [foot.frame for foot in feet], "q0": q0}
