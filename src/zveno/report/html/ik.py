"""The report of solutions of inverse kinematics."""

from __future__ import annotations

import numpy as np

from ...errors import ZvenoError
from ...ik.paths.joint_path import JointPath
from ...ik.solutions import Solutions
from ...mechanism.units import coordinate_units, with_unit
from ..text.columns import number as fixed
from ..text.ik import families_of
from .blocks import Block, Series, lines, points, table
from .page import Chapter
from .scene import robot_scene

MOST_GHOSTS, MOST_ROWS = 16, 400


def solutions_chapter(result: Solutions) -> Chapter:
    """The robot in its solutions, and their table; of a batch, the first pose is shown and statuses are counted."""
    mechanism = result.mechanism
    if mechanism is None:
        raise ZvenoError("the result does not know its robot")
    poses = [()] if not result.batch else list(np.ndindex(*result.batch))
    statuses = [str(result.status if not pose else result.status[pose]) for pose in poses]
    blocks: list[Block] = [_scene(result, poses[0]), _table(result, poses), *_curves(result, poses)]
    if result.batch:
        words_of = dict.fromkeys(statuses)
        rows = [[word, statuses.count(word)] for word in words_of]
        blocks.append(table("Statuses", ("status", "poses"), rows))
        counts = Series("solutions", result.count.ravel(), np.arange(len(poses)))
        blocks.append(points("Solutions by pose", [counts], "pose", "solutions"))
    found = bool(result.count.any())
    tiles = (
        (str(int(result.count.sum())), "solutions"),
        (statuses[0] if len(set(statuses)) == 1 else f"{len(set(statuses))} statuses", "status"),
        (result.method, "method"),
    )
    title = f"{mechanism.name}, inverse kinematics of {result.frame}"
    return Chapter(title, result.summary, "good" if found else "warn", tiles, tuple(blocks))


def path_chapter(result: JointPath) -> Chapter:
    """The robot along the path, joint values, and where branches jump or end."""
    mechanism = result.mechanism
    solved = np.flatnonzero(np.isfinite(result.q).all(axis=1))
    blocks: list[Block] = []
    if len(solved):
        labels = [f"pose {k}" for k in solved]
        blocks.append(robot_scene("Along the path", mechanism, result.q[solved], labels))
    units = coordinate_units(mechanism)
    jumps = [k + 0.5 for k in result.jumps]
    for unit in dict.fromkeys(units[k] for k in result.chain):
        own = [k for k in result.chain if units[k] == unit]
        series = [Series(result.joint_names[k], result.q[:, k], np.arange(len(result.q))) for k in own]
        blocks.append(lines(f"Joints, {unit or 'quaternions'}", series, "pose", unit, marks=jumps))
    ended = [(k, branch) for k, branch in enumerate(result.branches, start=1) if branch.ended is not None]
    if ended:
        rows = [[k, branch.ended, branch.reason] for k, branch in ended]
        blocks.append(table("Branches that end", ("branch", "before pose", "why"), rows, wide=True))
    tiles = (
        (f"{result.fraction:.0%}", "of the path achieved"),
        (str(len(result.jumps)), "jumps"),
        (str(len(result.unsolved)), "poses without solution"),
        (str(len(result.branches)), "branches"),
    )
    tone = "good" if not result.jumps and not result.unsolved else "warn"
    return Chapter(f"{mechanism.name}, path of {result.frame}", result.summary, tone, tiles, tuple(blocks))


def _scene(result: Solutions, pose: tuple[int, ...]) -> Block:
    assert result.mechanism is not None
    q = result.of(*pose)
    if not len(q):
        return robot_scene("The nearest configuration", result.mechanism, result.nearest[pose][None], ["nearest"])
    labels = [f"solution {k + 1} of {len(q)}" for k in range(len(q))]
    return robot_scene("All solutions", result.mechanism, q, labels, ghosts=q[:MOST_GHOSTS], wide=True)


def _curves(result: Solutions, poses: list[tuple[int, ...]]) -> list[Block]:
    """Self-motions whose ends are known, as a table."""
    rows = [
        [",".join(map(str, pose)) or "–", k + 1, family.joint, *(fixed(value, 6) for value in family.interval),
         len(family.turns), "closed" if family.closed else " – ".join(family.ends)]
        for pose in poses
        for k, family in enumerate(families_of(result, pose))
        if family.joint
    ]  # fmt: skip
    head = ("pose", "curve", "joint", "from, rad", "to, rad", "turns", "ends")
    note = "" if len(rows) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(rows)}."
    return [table("Self-motions", head, rows[:MOST_ROWS], note=note, wide=True)] if rows else []


def _table(result: Solutions, poses: list[tuple[int, ...]]) -> Block:
    assert result.mechanism is not None
    units = coordinate_units(result.mechanism)
    head = [with_unit(result.joint_names[k], units[k]) for k in result.chain]
    rows = [
        [",".join(map(str, pose)) or "–", k + 1, *(fixed(x, 6) for x in result.q[pose][k][list(result.chain)]),
         f"{result.residual[pose][k]:.0e}", f"{result.condition[pose][k]:.3g}"]
        for pose in poses
        for k in range(int(result.count[pose]))
    ]  # fmt: skip
    note = "" if len(rows) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(rows)}."
    return table("Solutions", ("pose", "#", *head, "residual", "condition"), rows[:MOST_ROWS], note=note, wide=True)
