"""Calibration: identifiability, plans, fits of simulated measurements of every kind, and what is done with them.

Fits stop where they converged, so that their numbers are compared to 1e-7.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case
from ..robots import load
from ..store import Archive

FITTED = 1e-7
POINT = [[0.05, 0.02, 0.1]]


def kinds(robot: str) -> dict[str, Any]:
    """A measurement of every kind for one robot."""
    return {
        "pose": zveno.calibration.Pose(),
        "relative pose": api.relative_pose(),
        "position": zveno.calibration.Position(points=POINT),
        "three positions": zveno.calibration.Position(points=[[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], sigma=5e-5),
        "relative position": api.relative_position(points=POINT),
        "unknown point": api.relative_position(unknown_points=True),
        "distance": zveno.calibration.Distance(point=POINT[0]),
        "fixed point": zveno.calibration.FixedPoint(),
        "sockets": zveno.calibration.Sockets(),
        "plane": zveno.calibration.Plane(normal=(0, 0, 1), offset=0.1),
        "unknown planes": zveno.calibration.Plane(),
        "line": zveno.calibration.Line(),
        "ball bar": zveno.calibration.BallBar(length=0.6),
        "direction": zveno.calibration.AxisDirection(),
        "tilt": zveno.calibration.Tilt(),
        "camera": zveno.calibration.Camera(),
        "camera beside": zveno.calibration.Camera(mount="world"),
        "pixels": zveno.calibration.Pixels(mount="hand", grid=(5, 4, 0.03), intrinsics=(600, 600, 320, 240)),
    }


GROUPED = {
    "fixed point": ("a", "b"),
    "sockets": ("a/hole1", "a/hole2", "b/hole1", "b/hole2"),
    "unknown planes": ("p", "r", "s"),
    "line": ("k", "l"),
    "ball bar": ("",),
    "plane": (),
}
FITS = {
    "pose": {},
    "position": {},
    "relative position": {},
    "unknown point": {},
    "distance": {},
    "fixed point": {},
    "sockets": {},
    "plane": {},
    "unknown planes": {},
    "line": {},
    "ball bar": {},
    "direction": {},
    "tilt": {},
    "camera": {},
    "pixels": {},
}


def cases(archive: Archive) -> Iterator[Case]:
    """Every kind of measurement."""
    for robot in ("ur5", "puma560", "panda", "scara", "stanford"):
        some = kinds(robot) if robot in ("ur5", "puma560") else ("pose", "position", "relative position", "sockets")
        for name in some:
            yield Case(
                f"identifiability/{robot}, {name}",
                lambda robot=robot, name=name: _identifiability(load(robot), kinds(robot)[name]),
                1e-6,
            )
    for name, model in {
        "joint terms": {"joint_terms": ("gear", "compliance")},
        "TJL": {"strategy": "TJL"},
        "BR": {"strategy": "BR"},
        "dh": {"parameters": "dh"},
        "patterns": {"parameters": ("Tx*", "Rzq*")},
    }.items():
        yield Case(
            f"identifiability/ur5, {name}",
            lambda model=model: _identifiability(load("ur5"), zveno.calibration.Position(points=POINT), **model),
            1e-6,
        )
    yield Case(
        "identifiability/biped, self-touch",
        lambda: _identifiability(
            load("biped"), zveno.calibration.SelfTouch(frame="left_foot", seen_from="right_foot")
        ),
        1e-6,
    )
    yield from _plans(archive)
    for name in FITS:
        yield Case(f"simulated/{name}", lambda name=name: _simulated(name))
    for name in FITS:
        yield Case(f"fit/{name}", lambda name=name: _fit(_data(archive, name), joint_terms=()), FITTED)
    position = "position"
    for words, options in {
        "no prior": {"prior": None, "joint_terms": ()},
        "all rows": {"loss": "none", "joint_terms": ()},
        "some parameters": {"parameters": ("Tx*", "Rzq*"), "joint_terms": ()},
        "fixed": {"fixed": ("Tx*",), "joint_terms": ()},
        "bounds": {"bounds": {"Tx*": (-1e-4, 1e-4)}, "joint_terms": ()},
        "priors": {"prior": {"Rzq*": 1e-3}, "joint_terms": ()},
        "TJL": {"strategy": "TJL", "joint_terms": ()},
        "compliance": {"joint_terms": ("compliance",)},
    }.items():
        yield Case(f"options/{words}", lambda options=options: _fit(_data(archive, position), **options), FITTED)
    yield Case("options/outliers", lambda: _fit(_with_outliers(archive), joint_terms=()), FITTED)
    yield Case(
        "options/two kinds",
        lambda: _fit([_data(archive, "tilt"), _data(archive, position)], joint_terms=()),
        FITTED,
    )
    yield Case("default/position", lambda: _fit(_data(archive, position)), FITTED)
    yield Case("default/joint terms", lambda: _fit(_data(archive, "joint terms")), FITTED)
    yield from _use(archive)


def _identifiability(robot: zveno.Robot, measurement: Any, **model: Any) -> dict[str, Any]:
    found = api.identifiability(robot, measurement, **model)
    return {
        "rank": found.rank,
        "names": found.names,
        "classes": found.classes,
        "chosen": found.chosen,
        "unknowns": found.unknowns,
        "expressions": found.expressions,
        "status": api.IDENTIFIABILITY_STATUSES.get(found.status, found.status),
    }


def _postures(archive: Archive, n: int = 40) -> np.ndarray:
    return archive.given(f"ur5/q {n}", lambda: api.random_postures(load("ur5"), n, 21))


@cache
def _true_robot() -> zveno.Robot:
    """A UR5 whose geometry is off by about 0.3 mm and 1 mrad."""
    robot = load("ur5")
    rng = np.random.default_rng(22)
    names = api.identifiability(robot, zveno.calibration.Pose()).chosen
    sizes = [3e-4 if name.startswith("T") else 1e-3 for name in names]
    return api.apply_deviations(robot, dict(zip(names, sizes * rng.standard_normal(len(names)), strict=True)))


def _groups(name: str, n: int) -> tuple[str, ...]:
    groups = GROUPED.get(name, ())
    return tuple(groups[k % len(groups)] for k in range(n)) if groups else ()


def _made(name: str, q: np.ndarray) -> Any:
    if name == "joint terms":
        errors = {"Cq2": 3e-5, "Cq3": 5e-5, "Kq2": 2e-3, "Kq4": -1e-3}
        measurement = zveno.calibration.Position(points=POINT, sigma=2e-5)
        return api.simulate_dataset(_true_robot(), measurement, q, joint_errors=errors, rng=24)
    return api.simulate_dataset(_true_robot(), kinds("ur5")[name], q, groups=_groups(name, len(q)), rng=23)


def _simulated(name: str) -> dict[str, Any]:
    q = api.random_postures(load("ur5"), 12, 25)
    data = _made(name, q)
    return {"q": data.q, "y": np.zeros(0) if data.y is None else data.y, "groups": data.groups}


def _data(archive: Archive, name: str) -> Any:
    """Simulated readings, as they were when the corpus was recorded."""
    n = 60 if name in ("joint terms", "unknown planes", "line", "distance", "plane") else 40
    made = cache(lambda: _made(name, _postures(archive, n)))
    q = archive.given(f"{name}/q", lambda: made().q)
    y = archive.given(f"{name}/y", lambda: np.zeros(0) if made().y is None else made().y)
    groups = archive.given(f"{name}/groups", lambda: made().groups)
    measurement = (
        zveno.calibration.Position(points=POINT, sigma=2e-5) if name == "joint terms" else kinds("ur5")[name]
    )
    return api.dataset(measurement, q, y if y.size else None, tuple(map(str, groups)))


def _with_outliers(archive: Archive) -> Any:
    data = _data(archive, "position")
    y = np.array(data.y)
    y[3] += 0.02
    y[17] -= 0.01
    return api.dataset(data.measurement, data.q, y, ())


def _fit(data: Any, **options: Any) -> dict[str, Any]:
    found = api.calibrate(load("ur5"), data, folds=5, **options)
    unknowns = api.calibration_unknowns(found)
    return {
        "names": found.names,
        "values": found.values,
        "std": found.std,
        "status": found.status,
        "unknown names": sorted(unknowns),
        "unknowns": np.array([unknowns[name] for name in sorted(unknowns)]),
        "outliers": [f"{outlier.row}" for outlier in found.outliers],
        **{f"error {name}": value for name, value in api.calibration_errors(found).items()},
    }


def _plans(archive: Archive) -> Iterator[Case]:
    options = {"candidates": 400, "rng": 31}
    for name in ("pose", "position", "relative position", "tilt", "sockets", "unknown planes"):
        yield Case(
            f"plan/{name}",
            lambda name=name: _plan("ur5", kinds("ur5")[name], 30 if name == "unknown planes" else 14, **options),
            1e-6,
        )
    tracker = zveno.calibration.Position(points=POINT, sigma=5e-5)
    for criterion in ("D", "A", "G"):
        yield Case(
            f"plan/{criterion}",
            lambda criterion=criterion: _plan("puma560", tracker, 12, criterion=criterion, **options),
            1e-6,
        )
    q = _postures(archive)
    yield Case("plan/existing", lambda: _plan("ur5", tracker, 6, existing=q[:10], **options), 1e-6)
    yield Case("plan/no clearance", lambda: _plan("ur5", tracker, 10, clearance=None, **options), 1e-6)
    rules = {
        "margin": 0.1,
        "box": ((-0.8, -0.8, 0.0), (0.8, 0.8, 1.2)),
        "clearance": zveno.Clearance(ground=0.0),
        "visibility": zveno.calibration.Visibility((2.0, 0.0, 1.0), half_angle=1.2),
    }
    yield Case("plan/rules", lambda: _plan("ur5", tracker, 10, **rules, **options), 1e-6)
    yield Case("plan/evaluated", lambda: _plan_values(api.evaluate_poses(load("ur5"), tracker, q[:20])), 1e-9)


def _plan(robot: str, measurement: Any, n: int, **options: Any) -> dict[str, Any]:
    return _plan_values(api.plan_poses(load(robot), measurement, n, **options))


def _plan_values(plan: Any) -> dict[str, Any]:
    return {
        "value": plan.value,
        "names": plan.names,
        "sigma": plan.sigma,
        "efficiency": plan.efficiency,
        "status": api.PLAN_STATUSES.get(plan.status, plan.status),
        "n": len(plan.q),
    }


def _use(archive: Archive) -> Iterator[Case]:
    found = cache(lambda: api.calibrate(load("ur5"), _data(archive, "position"), joint_terms=(), folds=0))
    q = archive.given("use/q", lambda: api.random_postures(load("ur5"), 50, 26))

    def compensated() -> dict[str, Any]:
        answer = found().compensate(q)
        return {"q": answer.q, "status": answer.status, "position": answer.position_error}

    def predicted() -> dict[str, Any]:
        answer = found().predict(q)
        return {"T": answer.T_world_frame, "covariance": answer.covariance}

    def mapped() -> dict[str, Any]:
        answer = found().accuracy_map()
        return {"sigma": np.sort(answer.sigma_position)[::50], "nominal": np.sort(answer.nominal_error)[::50]}

    def controller() -> dict[str, Any]:
        values = {}
        for form in ("offsets", "frames", "kuka", "abb"):
            try:
                made = api.controller_parameters(found(), form)
            except zveno.errors.ModelError:  # one point leaves open how the flange is turned
                values[f"{form} names"] = ["refused"]
                continue
            values |= {form: [made.position, made.rotation], f"{form} names": list(made.values)}
            values |= {f"{form} values": list(made.values.values())}
        return values

    def robot() -> dict[str, Any]:
        return {"T": found().robot.forward_kinematics(q)}

    yield Case("use/compensate", compensated, FITTED)
    yield Case("use/predict", predicted, FITTED)
    yield Case("use/accuracy_map", mapped, FITTED)
    yield Case("use/robot", robot, FITTED)
    yield Case("use/controller", controller, FITTED)
