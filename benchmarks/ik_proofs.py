"""Certified, floating and exported inverse kinematics on the same poses: counts, values and statuses.

    python -m benchmarks.ik_proofs --poses 10000 --kept proofs.jsonl

Poses of every class of arms in equal parts: random, anywhere in reach (most of them out of it), 1e-3, 1e-5, 1e-6
and 1e-7 rad from singular, and with a joint at a limit. One proof a pose, limits disregarded, judges what the
floating solver says, what the exported C says, and, with limits, what `method="certified"` says. Where a claim is
made it must be as many solutions as the proof has inside limits, and the same; without a claim each listed must be
one. A pair that floats list once and call a double root is counted on its own. Results are appended to a file block
by block, and blocks that are in it are not computed again. Exit code 1 if a claim is refuted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from rich.console import Console
from rich.table import Table

import zveno
from zveno import ik
from zveno.ik import judge
from zveno.ik.solutions import UNDECIDED
from zveno.mechanism import Limits

from .controller import Compiled
from .ik_certified import DISTANCES, classes, poses_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_answers import robot_of  # pyright: ignore[reportMissingImports]
from test_ik_certified_short import CHAINS  # pyright: ignore[reportMissingImports]

KINDS = ("random", "anywhere", *DISTANCES)
BLOCK = 10
ONE_ROOT = 1e-5
"""rad: a pair that is listed once, as a double root, is at most so far from where it is listed."""
ROUNDING = 1e-14
"""m and rad: a configuration that misses the pose by less is a solution as far as floats can tell."""
BOUND = 2.0
"""rad, limits of the arms asked for poses at a limit."""
SEVEN = {"panda": "joint7", "iiwa14": "joint3", "xarm7": "joint1"}
"""Robots of seven joints, and the one that is held."""
Answers = Callable[[np.ndarray], tuple[ik.Solutions, ik.Solutions | None, Any]]
"""Poses (n, 4, 4) to the floating answer, the certified one with limits if there are any, and that of the C."""


@dataclass(frozen=True)
class Asked:
    """One robot and the kinds of poses it is asked for."""

    of_class: str
    name: str
    kind: str
    poses: Callable[[int, np.random.Generator], np.ndarray]
    answers: Answers


def every_arm(n: int) -> Iterator[list[Asked]]:
    """Robots of each class with every kind of poses."""
    for of_class, arms in classes(n).items():
        yield [asked for arm in arms for asked in _six(of_class, arm)]
    yield [_seven(name, joint) for name, joint in SEVEN.items()]
    yield [_short(name, *chain) for name, chain in CHAINS.items()]


def _six(of_class: str, arm: Any) -> Iterator[Asked]:
    free, limited = robot_of(arm), robot_of(arm, Limits(-BOUND, BOUND))

    def at_a_limit(n: int, rng: np.random.Generator) -> np.ndarray:
        q = rng.uniform(-BOUND, BOUND, (n, 6))
        q[np.arange(n), rng.integers(6, size=n)] = rng.choice([-BOUND, BOUND], n)
        return arm.forward(q)

    for kind in KINDS:
        yield Asked(
            of_class,
            arm.name,
            kind,
            lambda n, rng, kind=kind: poses_of(arm, free, kind, n, rng),
            lambda T: (free.ik(T), None, _in_c(free)(T)),
        )
    yield Asked(
        of_class,
        arm.name,
        "at a limit",
        at_a_limit,
        lambda T: (limited.ik(T), limited.ik(T, method="certified"), _in_c(limited)(T)),
    )


def _seven(name: str, joint: str) -> Asked:
    robot = zveno.load(name)
    held = {joint: 2 * (0.4,)}

    def poses(n: int, rng: np.random.Generator) -> np.ndarray:
        q = robot.random(n, int(rng.integers(1 << 30)))
        q[:, robot.joint_names.index(joint)] = held[joint][0]
        return robot.forward_kinematics(q)

    def answers(T: np.ndarray):
        exported = _in_c(robot, joint)(T, np.full(len(T), held[joint][0]))
        return robot.ik(T, limits=held), robot.ik(T, limits=held, method="certified"), exported

    return Asked("seven joints, one held", name, "random", poses, answers)


def _short(name: str, model: str, task: str) -> Asked:
    robot = zveno.load(model)

    def poses(n: int, rng: np.random.Generator) -> np.ndarray:
        return robot.forward_kinematics(robot.random(n, int(rng.integers(1 << 30))))

    def answers(T: np.ndarray):
        if task != "pose":
            return robot.ik(T, task=task, limits=False), None, None
        certified = robot.ik(T, task=task, method="certified")
        return robot.ik(T, task=task), certified, _in_c(robot)(T)

    return Asked("slides and short chains", name, "random", poses, answers)


_COMPILED: dict[tuple, Compiled] = {}
_WARM: list[Asked] = []


def _in_c(robot: zveno.Robot, redundant: str | None = None) -> Compiled:
    key = robot.mechanism.fingerprint, redundant
    if key not in _COMPILED:
        _COMPILED[key] = Compiled(robot, redundant)
    return _COMPILED[key]


def block(asked: Asked, number: int) -> dict[str, Any]:
    """What came out for one block of poses."""
    rng = np.random.default_rng([crc32(f"{asked.of_class} {asked.name} {asked.kind}".encode()), number])
    T = asked.poses(BLOCK, rng)
    floating, certified, exported = asked.answers(T)
    said: dict[str, Counter] = {"floating": Counter(), "certified": Counter(), "C": Counter()}
    faults, seconds, proved = [], [], 0
    for k in range(len(T)):
        own = replace(floating, **_single(floating, k))
        if asked not in _WARM:  # templates are chosen once
            judge.prove(own)
            _WARM.append(asked)
        start = time.process_time()
        proof = judge.prove(own).proof
        seconds.append(round(1e3 * (time.process_time() - start), 2))
        proved += proof.status != "not proved"
        claims = {"floating": own}
        if certified is not None:
            claims["certified"] = replace(certified, **_single(certified, k))
        if exported is not None:
            q, count, status = (part[k] for part in exported)
            listed = {"q": q[: int(count)], "count": np.array(int(count)), "codes": np.array(int(status))}
            claims["C"] = replace(own, **listed, self_motions={})
        for by, claim in claims.items():
            word, reason = verdict(claim, proof, floating.reason(k) if by == "floating" else "")
            said[by][word] += 1
            if word == "refuted":
                faults.append({"by": by, "why": reason, "status": str(claim.status), "T": T[k].tolist()})
    return {"proved": proved, "ms": seconds, "said": said, "faults": faults}


def _single(answer: ik.Solutions, k: int) -> dict[str, Any]:
    """What a batch says of pose k, as fields of an answer for that pose alone."""
    whole = {name: getattr(answer, name)[k] for name in ("count", "codes", "target")}
    lists = {"notes": answer.notes, "self_motions": answer.self_motions}
    kept = {name: {0: by_pose[k]} if k in by_pose else {} for name, by_pose in lists.items()}
    return {**whole, **kept, "q": answer.of(k), "batch": ()}


def verdict(claim: ik.Solutions, proof: ik.Solutions, reason: str) -> tuple[str, str]:
    """How an answer compares with the proof, and why."""
    problem = judge._asked(claim)
    code, why = judge._judged(problem, claim, proof, (), judge.TOLERANCE)
    if judge.VERDICTS[code] == "proved":
        return ("no claim, each is one" if claim.codes == UNDECIDED else "agree"), why
    if judge.VERDICTS[code] == "not proved":
        return ("at a limit" if proof.status != "not proved" else "no proof"), why
    if _to_rounding(claim):
        if judge.VERDICTS[judge._judged(problem, claim, proof, (), ONE_ROOT)[0]] == "proved":
            return ("no claim" if claim.codes == UNDECIDED else "agree") + ", off by 1e-7 or more", why
        if _pairs_listed_once(claim, proof, reason):
            return "double root said", why
    return "refuted", why


def _to_rounding(claim: ik.Solutions) -> bool:
    """Whether every configuration listed meets the pose up to rounding."""
    assert claim.mechanism is not None
    T = zveno.Robot(claim.mechanism).forward_kinematics(claim.q, frame=claim.frame)
    return bool(np.abs(T - claim.target).max(initial=0.0) < ROUNDING)


def _pairs_listed_once(claim: ik.Solutions, proof: ik.Solutions, reason: str) -> bool:
    """Whether an answer differs from the proof by its double roots alone: pairs listed once, or pairs that miss."""
    said = re.search(r"(\d+) of them double roots", reason)
    if said is None:
        return False
    off = claim.q[:, None] - proof.q[None]
    near = np.abs(off - 2 * np.pi * np.round(off / (2 * np.pi))).max(axis=-1) < ONE_ROOT
    missing, alone = len(proof.q) - len(claim.q), int((~near.any(axis=1)).sum())
    return bool(near.any(axis=0).all()) and max(abs(missing), alone) <= int(said[1])


def main(arguments: list[str] | None = None) -> int:
    """Compute what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--poses", type=int, default=10_000, help="of each class")
    parser.add_argument("--arms", type=int, default=10, help="general and industrial arms, each")
    parser.add_argument("--timeout", type=float, default=np.inf, help="of CPU for each class, at most")
    parser.add_argument("--only", default="", help="classes whose names this pattern finds")
    parser.add_argument("--kept", type=Path, default=None, help="file of results, JSON lines")
    options = parser.parse_args(arguments)
    zveno.set_threads(1)
    rows = _read(options.kept)
    for arms in every_arm(options.arms):
        if not re.search(options.only, arms[0].of_class):
            continue
        start = time.process_time()
        for i in range(options.poses // BLOCK):
            asked, number = arms[i % len(arms)], i // len(arms)
            key = f"{asked.of_class}, {asked.name}, {asked.kind}, {number}"
            if key in rows or time.process_time() - start > options.seconds:
                continue
            rows[key] = {"class": asked.of_class, "arm": asked.name, "kind": asked.kind, **block(asked, number)}
            if options.kept is not None:
                with options.kept.open("a") as file:
                    file.write(json.dumps({"key": key, **rows[key]}) + "\n")
    Console(width=150).print(table_of(list(rows.values())))
    faults = [fault for row in rows.values() for fault in row["faults"]]
    for fault in faults:
        print(json.dumps(fault))
    return int(bool(faults))


def _read(kept: Path | None) -> dict[str, dict[str, Any]]:
    if kept is None or not kept.exists():
        return {}
    lines = [json.loads(line) for line in kept.read_text().splitlines() if line.endswith("}")]
    return {line.pop("key"): line for line in lines}


def table_of(rows: list[dict[str, Any]]) -> Table:
    """Sums by class and kind; times are CPU of one proof and one verdict."""
    table = Table("class", "poses", "proved", "ms", "p95", "worst", "floating", "certified with limits", "C")
    for of_class, kind in dict.fromkeys((row["class"], row["kind"]) for row in rows):
        own = [row for row in rows if (row["class"], row["kind"]) == (of_class, kind)]
        ms = np.concatenate([row["ms"] for row in own])
        told = []
        for by in ("floating", "certified", "C"):
            said = sum((Counter(row["said"][by]) for row in own), Counter())
            told.append(", ".join(f"{n} {word}" for word, n in said.most_common()))
        times = (f"{np.median(ms):.1f}", f"{np.quantile(ms, 0.95):.0f}", f"{ms.max():.0f}")
        table.add_row(of_class, kind, f"{sum(row['proved'] for row in own)}/{len(ms)}", *times, *told)
    return table


if __name__ == "__main__":
    sys.exit(main())
