"""Base parameters: names, expressions, rank, values, regressors and inverse dynamics from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case
from ..robots import ROBOTS, four_bar, four_bar_posture, load
from ..store import Archive

DRIVES: dict[str, Any] = {"links": False, "drives": True, "model": None, "two kinds": ("rotor", "viscous")}
OTHERS = ("tx40", "stanford", "scara", "iiwa14", "chain(20)")


def cases(archive: Archive) -> Iterator[Case]:
    """Every robot, with and without drives."""
    robots = {name: make() for name, make in ROBOTS.items() if name != "four bar"}
    robots |= {name: load(name) for name in OTHERS}
    for name, robot in robots.items():
        if robot is None:
            continue
        for words, drives in DRIVES.items():
            yield Case(f"{name}/{words}", lambda robot=robot, drives=drives: _analysed(robot, drives=drives))
        q = archive.given(f"{name}/q", lambda robot=robot: api.random_postures(robot, 3, 12))
        yield Case(f"{name}/regressor", lambda robot=robot, q=q: _regressor(robot, q), 1e-11)
    for name in ("ur5", "puma560", "quadruped"):
        robot = load(name)
        yield Case(f"{name}/no exact numbers", lambda robot=robot: _analysed(robot, drives=False, exact=False))
        for view in ("pseudo", "center"):
            yield Case(f"{name}/{view}", lambda robot=robot, view=view: _viewed(robot, view))
        yield Case(f"{name}/no gravity", lambda robot=robot: _analysed(robot.with_gravity((0, 0, 0)), drives=True))
    q0 = four_bar_posture(0.7)
    for words, drives in DRIVES.items():
        yield Case(f"four bar/{words}", lambda drives=drives: _analysed(four_bar(), drives=drives, q0=q0), 1e-7)
    yield Case("four bar/open", lambda: _analysed(four_bar(), drives=True, loops=()))
    for name in ("ur5", "puma560", "tx40"):
        robot = load(name)
        q = archive.given(f"{name}/model q", lambda robot=robot: api.random_postures(robot, 3, 13))
        yield Case(f"{name}/model of base parameters", lambda robot=robot, q=q: _model(robot, q), 1e-11)


def _analysed(robot: zveno.Robot, **options: Any) -> dict[str, Any]:
    base = api.base_parameters(robot, **options)
    return {
        "rank": base.rank,
        "names": base.names,
        "expressions": base.expressions,
        "values": base.values,
        "columns": base.columns,
        "status": base.status,
        "alone": base.alone,
        "combined": base.combined,
        "without effect": base.without_effect,
    }


def _viewed(robot: zveno.Robot, view: str) -> dict[str, Any]:
    base = api.in_view(api.base_parameters(robot, drives=False), view)
    return {"names": base.names, "expressions": base.expressions, "values": base.values}


def _regressor(robot: zveno.Robot, q: np.ndarray) -> dict[str, Any]:
    v, a = np.random.default_rng(14).standard_normal((2, len(q), robot.n_v))
    base = api.base_parameters(robot, drives=None)
    other = np.random.default_rng(15).uniform(0.5, 1.5, base.n_parameters)
    projected = base.project(other)
    return {
        "W": api.base_regressor(robot, base, q, v, a),
        "W with drives": api.base_regressor(robot, base, q, v, a, drives=True),
        "projected": projected,
        "lifted": base.lift(projected, other),
    }


def _model(robot: zveno.Robot, q: np.ndarray) -> dict[str, Any]:
    v, a = np.random.default_rng(16).standard_normal((2, len(q), robot.n_v))
    return {"tau": api.BaseModel(robot).inverse_dynamics(q, v, a)}
