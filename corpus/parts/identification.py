"""Excitation plans, simulated recordings, identification of dynamics, loads and drive gains.

Optimised motions and fits stop where they converged: values of plans are compared to 1e-5, fits to 1e-6.
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

FITTED, PLANNED = 1e-6, 1e-5
LOAD = (2.0, (0.0, 0.05, 0.1))


def cases(archive: Archive) -> Iterator[Case]:
    """Plans, logs and fits."""
    for name, options in {
        "ur5": {},
        "ur5, fixed": {"fixed": ("wrist_3",)},
        "ur5, payload": {"payload": "wrist_3_link"},
        "ur5, links": {"drives": False},
    }.items():
        yield Case(f"plans/{name}", lambda o=options: _plan(o), PLANNED)
    yield Case("logs/simulated", _simulated, PLANNED)
    log, loaded = cache(lambda: _log(archive, False)), cache(lambda: _log(archive, True))
    fit = cache(lambda: api.identify(load("ur5"), log(), friction_terms="basic"))
    yield Case("fits/basic friction", lambda: _found(fit()), FITTED)
    for name, options in {
        "defaults": {},
        "geometry": {"friction_terms": "basic", "prior": "geometry"},
        "no prior": {"friction_terms": "basic", "prior": "none"},
        "band": {"friction_terms": "basic", "band": 5.0},
        "recorded velocity": {"friction_terms": "basic", "velocity": "recorded"},
        "folds": {"friction_terms": "basic", "folds": 3},
    }.items():
        yield Case(
            f"fits/{name}", lambda o=options: _found(api.identify(load("ur5"), _log(archive, False), **o)), FITTED
        )
    yield Case(
        "fits/validation",
        lambda: _found(api.identify(load("ur5"), log(), friction_terms="basic", validation=loaded())),
        FITTED,
    )
    q, v, a = np.random.default_rng(81).standard_normal((3, 5, 6))

    def predicted() -> dict[str, Any]:
        found = fit().predict(q, v, a)
        return {"tau": found.tau, "robot": fit().robot.inverse_dynamics(q, v, a)}

    yield Case("fits/prediction", predicted, FITTED)

    def payload() -> dict[str, Any]:
        found = api.identify_payload(fit(), loaded())
        return {"parameters": found.parameters, "seen": found.seen}

    yield Case("loads/payload", payload, FITTED)

    def gains() -> dict[str, Any]:
        ten = zveno.inertia.parameters(LOAD[0], LOAD[1], np.zeros((3, 3)))
        found = api.identify_drive_gains(load("ur5"), log(), loaded(), ten)
        return {"gains": found.gains, "std": found.std}

    yield Case("loads/drive gains", gains, FITTED)

    def recursive() -> dict[str, Any]:
        estimate = api.recursive_least_squares(fit(), forgetting=0.99)
        for k in range(5):
            estimate.update(q[k], v[k], a[k], fit().robot.inverse_dynamics(q[k], v[k], a[k]) + 0.1)
        return {"values": estimate.values, "std": estimate.std}

    yield Case("online/recursive", recursive, FITTED)


def _plan(options: dict[str, Any]) -> dict[str, Any]:
    motion = {"velocity": 2.0, "acceleration": 8.0}
    plan = api.plan_excitation(load("ur5"), 6.0, motion=motion, torque_sigma=0.5, rng=5, **options)
    return {
        "value": api.excitation_value(plan),
        "names": plan.names,
        "status": api.EXCITATION_STATUSES.get(plan.status, plan.status),
    }


@cache
def _motion() -> Any:
    motion = {"velocity": 2.0, "acceleration": 8.0}
    return api.plan_excitation(load("ur5"), 6.0, motion=motion, torque_sigma=0.5, rng=6)


def _simulated() -> dict[str, Any]:
    log = api.simulate_log(load("ur5"), _motion(), rate=250.0, torque_sigma=0.5, resolution=1e-5)
    arrays = log.arrays()
    return {"n": len(log), "q": arrays.q[::150], "tau mean": np.abs(arrays.tau).mean(axis=0)}


def _log(archive: Archive, loaded: bool) -> Any:
    """A recording of a UR5, 12 s at 125 Hz, as stored."""
    words = "loaded" if loaded else "plain"
    made = cache(lambda: _recorded(loaded))
    t, q, tau, v = (
        archive.given(f"{words}/{name}", lambda k=k: made()[k]) for k, name in enumerate(("t", "q", "tau", "v"))
    )
    return api.log_of(load("ur5"), t, q.astype(float), tau.astype(float), v.astype(float))


def _recorded(loaded: bool) -> tuple[np.ndarray, ...]:
    robot, rng = load("ur5"), np.random.default_rng(82 + loaded)
    truth = robot.with_payload(LOAD[0], center_of_mass=LOAD[1]) if loaded else robot
    t = np.arange(0.0, 12.0, 0.008)
    w = 2 * np.pi / 6.0 * np.arange(1, 6)
    A, B = rng.uniform(-0.4, 0.4, (2, 5, 6)) / np.arange(1, 6)[:, None]
    phase = np.outer(t, w)
    q = [0.0, -1.2, 1.0, -1.0, 0.5, 0.0] + np.sin(phase) @ A + np.cos(phase) @ B
    v = np.cos(phase) @ (w[:, None] * A) - np.sin(phase) @ (w[:, None] * B)
    a = -np.sin(phase) @ (w[:, None] ** 2 * A) - np.cos(phase) @ (w[:, None] ** 2 * B)
    tau = truth.inverse_dynamics(q, v, a) + 2.0 * v + 1.5 * np.tanh(v / 0.005) + 0.3 * rng.normal(size=q.shape)
    return t, q.astype(np.float32), tau.astype(np.float32), v.astype(np.float32)


def _found(found: Any) -> dict[str, Any]:
    return {
        "names": found.names,
        "values": found.values,
        "std": np.sqrt(np.diag(found.covariance)),
        "parameters": found.parameters,
        "status": found.status,
        "held out": api.held_out_error(found),
    }
