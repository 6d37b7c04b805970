"""Inverse kinematics: statuses, counts and solutions of 10⁴ poses of each class of arms.

For every pose: status, count, and sums of cosines and sines of two integer combinations of the coordinates over all
solutions, which do not depend on their order or on whole turns. For every tenth pose, and for those nearer than
1e-3 to singular, all solutions. Statuses may move to "undecided" or "sampled"; no solution may be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import api
from ..arms import CLASSES, Arm, poses
from ..cases import Case, Outcome, Values
from ..robots import load
from ..store import Archive

POSES = 10_000
LISTED = 1500
"""Poses of a class, at most, of which all solutions are kept."""
NEAR = 1e-3
OPEN = ("undecided", "sampled")
SAME = 1e-6
"""rad and m: solutions as near as this are one, or 1e-14 times the condition number if that is more."""
EPSILON, WIDEST = 1e-14, 1e-2
FINGERPRINT = 1e-5
WEIGHTS = np.array([[1, 2, -1, 3, 1, -2, 2], [2, -1, 1, 1, -3, 1, -1]])
MISSES = 40
"""Poses of an arm without solutions of which it is kept how far the nearest configuration is off."""


def cases(archive: Archive) -> Iterator[Case]:
    """One case for each arm, with and without limits."""
    for number, (name, make) in enumerate(CLASSES.items()):
        arms = make()
        share, most = POSES // len(arms) // 2, LISTED // len(arms) // 2
        for k, arm in enumerate(arms):
            for limits in (True, False):
                seed = 1000 * number + 2 * k + limits
                words = "limits" if limits else "no limits"
                yield Case(
                    f"{name}/{arm.name}, {words}",
                    lambda arm=arm, limits=limits, seed=seed, share=share, most=most: _answers(
                        arm, limits, seed, share, most
                    ),
                    rule=compared,
                )
    for name, robot, n, options in SEVEN:
        yield Case(
            f"{name}",
            lambda robot=robot, n=n, options=options: _seven(archive, robot, n, options),
            rule=compared,
        )


SEVEN: list[tuple[str, str, int, dict[str, Any]]] = [
    *((f"7R sampled/{robot}", robot, 100, {"samples": 16}) for robot in ("panda", "iiwa14", "xarm7")),
    *((f"7R self-motions/{robot}", robot, n, {}) for robot, n in (("panda", 50), ("iiwa14", 30), ("gen3", 20))),
]


def _seven(archive: Archive, name: str, n: int, options: dict[str, Any]) -> dict[str, Any]:
    """Poses of seven joints; a quarter is moved away from the base, some of these out of reach."""
    robot = load(name)
    q = archive.given(f"{name}/q", lambda: api.random_postures(robot, 100, 9))
    T = robot.forward_kinematics(q[:n])
    T[::4, :3, 3] *= 1.35
    answer = api.ik(robot, T, **options)
    return stored(answer, np.arange(n)) | _misses(answer) | _curves(answer)


def _curves(answer: api.Answer) -> dict[str, Any]:
    """Of every pose, sorted: where the sliced joint begins and ends on each curve, and whether it is closed."""
    rows = []
    for k in sorted(answer.families):
        curves = sorted((*curve.interval, float(curve.closed)) for curve in answer.families[k])
        rows += [(k, *curve) for curve in curves]
    return {"curves": np.array(rows).reshape(-1, 4)}


def _answers(arm: Arm, limits: bool, seed: int, n: int, listed: int) -> dict[str, Any]:
    T, off = poses(arm, n, seed)
    target = T[:, :3, 3] if arm.task == "position" else T
    answer = api.ik(arm.robot(), target, limits=limits, task=arm.task)
    chosen = (off < NEAR) | (np.arange(n) % 10 == 0)
    chosen = np.flatnonzero(chosen)[:listed]
    return stored(answer, chosen) | _misses(answer)


def stored(answer: api.Answer, chosen: np.ndarray) -> dict[str, Any]:
    """What is kept of an answer for a batch of poses."""
    words, codes = np.unique(answer.status.astype(str), return_inverse=True)
    kept = [answer.q[k, : answer.count[k]] for k in chosen]
    return {
        "words": words,
        "codes": codes.astype(np.uint8),
        "count": answer.count.astype(np.uint16),
        "fingerprint": fingerprints(answer.q).astype(np.float32),
        "condition": np.fmin(np.nanmax(np.nan_to_num(answer.condition, nan=1.0), axis=1, initial=1.0), 1e30).astype(
            np.float32
        ),
        "listed": chosen.astype(np.uint16),
        "solutions": np.concatenate([np.zeros((0, answer.q.shape[-1])), *kept]).astype(np.float32),
        "continua": np.array([len(answer.families.get(k, ())) for k in range(len(codes))], dtype=np.uint8),
    }


def _misses(answer: api.Answer) -> dict[str, Any]:
    """How far the nearest configuration is off, and how far solutions are outside limits, for some poses."""
    none = np.flatnonzero(answer.status == "unreachable")[:MISSES]
    outside = np.flatnonzero(answer.status == "excluded by limits")[:MISSES]
    return {"misses": answer.nearest_error[none], "excess": answer.limit_excess[outside]}


def fingerprints(q: np.ndarray) -> np.ndarray:
    """(k, 4) of solutions (k, m, n), NaN where there is none."""
    angles = q @ WEIGHTS[:, : q.shape[-1]].T
    return np.nansum(np.concatenate([np.cos(angles), np.sin(angles)], axis=-1), axis=1)


def compared(case: Case, old: Values, new: Values) -> Outcome:
    """Moves of statuses by kind, lost and new solutions."""
    outcome = Outcome()
    if len(old["codes"]) != len(new["codes"]):
        return Outcome(np.inf, [f"{len(old['codes'])} poses became {len(new['codes'])}"])
    before, now = (values["words"][values["codes"]] for values in (old, new))
    _moves(before, now, outcome)
    known = ~np.isin(before, ("family",)) & (old["continua"] == 0) & (new["continua"] == 0)
    lists = dict(_lists(old))
    others = dict(_lists(new))
    lost, gained = _from_lists(lists, others, old["condition"], known)
    more, fewer, changed = [], [], []
    off = np.abs(old["fingerprint"] - new["fingerprint"]).max(axis=1)
    worst = np.maximum(old["condition"], new["condition"]).astype(float)
    bound = np.maximum(FINGERPRINT, np.minimum(10 * EPSILON * worst, 0.5))
    for k in np.flatnonzero(known):
        if k in lists and k in others:
            continue
        if old["count"][k] > new["count"][k]:
            fewer.append(k)
        elif old["count"][k] < new["count"][k]:
            more.append(k)
        elif off[k] > bound[k]:
            changed.append(k)
    fits = known & (old["count"] == new["count"])
    outcome.worst = float(off[fits].max(initial=0.0))
    for words, which in (("lost", lost), ("fewer", fewer), ("other", changed)):
        if len(which):
            outcome.problems.append(f"{words} solutions at {len(which)} poses: {some(which)}")
    claims = [k for k in (*gained, *more) if before[k] == "complete"]
    rest = [k for k in (*gained, *more) if before[k] != "complete"]
    if claims:
        outcome.problems.append(f"new solutions at {len(claims)} poses that were complete: {some(claims)}")
    if rest:
        outcome.remarks.append(f"new solutions at {len(rest)} poses: {some(rest)}")
    gone = list(np.flatnonzero(old["continua"] > new["continua"]))
    if gone:
        outcome.problems.append(f"fewer continua at {len(gone)} poses: {some(gone)}")
    _same_misses(old, new, outcome)
    if "curves" in old:
        _same_curves(old["curves"], new["curves"], outcome)
    return outcome


def _same_curves(old: np.ndarray, new: np.ndarray, outcome: Outcome) -> None:
    """Ends of curves, rad."""
    for k in np.unique(old[:, 0]):
        before, now = old[old[:, 0] == k], new[new[:, 0] == k]
        if len(before) != len(now):
            outcome.problems.append(f"pose {k:.0f}: {len(before)} curves became {len(now)}")
        elif np.abs(np.nan_to_num(before - now)).max() > 1e-4:
            outcome.problems.append(f"pose {k:.0f}: curves end elsewhere by {np.abs(before - now).max():.1e}")


def _moves(before: np.ndarray, now: np.ndarray, outcome: Outcome) -> None:
    moved = before != now
    for pair in sorted({(str(a), str(b)) for a, b in zip(before[moved], now[moved], strict=True)}):
        which = np.flatnonzero((before == pair[0]) & (now == pair[1]))
        line = f"{pair[0]} → {pair[1]}: {len(which)} poses: {some(which)}"
        (outcome.remarks if pair[1] in OPEN else outcome.problems).append(line)


def _lists(values: Values) -> Iterator[tuple[int, np.ndarray]]:
    start = 0
    for k in values["listed"].astype(int):
        n = int(values["count"][k])
        yield int(k), values["solutions"][start : start + n].astype(float)
        start += n


def _from_lists(
    old: dict[int, np.ndarray], new: dict[int, np.ndarray], condition: np.ndarray, known: np.ndarray
) -> tuple[list[int], list[int]]:
    """Poses that lost solutions, and poses with new ones."""
    lost, gained = [], []
    for k in old.keys() & new.keys():
        if not known[k]:
            continue
        bound = max(SAME, min(WIDEST, EPSILON * float(condition[k])))
        off = old[k][:, None] - new[k][None]
        off = np.abs(off - 2 * np.pi * np.round(off / (2 * np.pi))).max(axis=-1)
        if (off.min(axis=1, initial=np.inf) > bound).any():
            lost.append(k)
        if (off.min(axis=0, initial=np.inf) > bound).any():
            gained.append(k)
    return sorted(lost), sorted(gained)


def _same_misses(old: Values, new: Values, outcome: Outcome) -> None:
    for name in ("misses", "excess"):
        if old[name].shape == new[name].shape and np.abs(old[name] - new[name]).max(initial=0.0) > SAME:
            off = np.abs(old[name] - new[name]).max()
            outcome.problems.append(f"{name}: off by {off:.1e}, bound {SAME:.0e}")


def some(numbers: Any) -> str:
    """The first of some numbers."""
    listed = [str(int(k)) for k in sorted(numbers)]
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
