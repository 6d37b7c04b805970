"""Descriptions of solutions, joint paths, postures and workspace maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ZvenoError
from ..mechanism import Mechanism
from ..mechanism.units import coordinate_units
from ..report.description import (
    PAGE,
    PICTURE,
    TEXT,
    Bars,
    Block,
    Column,
    Curves,
    Description,
    Field,
    Map,
    Panel,
    Scene,
    Series,
    Table,
    Tone,
)

if TYPE_CHECKING:
    from ._whole_body.posture_result import Configurations
    from .maps.results import WorkspaceMap
    from .maps.tally import Tally
    from .paths.joint_path import JointPath
    from .solutions import SelfMotion, Solutions

MOST_GHOSTS = 16
"""Configurations in one picture; more would hide each other."""
LAYERS = 4
"""Layers of a workspace that are drawn."""


def describe_solutions(result: Solutions) -> Description:
    """Describe all solutions; of a batch, the robot is shown in those of the first pose."""
    mechanism = _known(result.mechanism)
    poses = list(np.ndindex(*result.batch))
    statuses = [str(np.asarray(result.status)[pose]) for pose in poses]
    blocks = [_solution_scene(result, poses[0])] if poses else []
    blocks += [_solution_table(result, mechanism, poses), *_self_motions(result, poses)]
    if not result.batch and not result.count and np.isfinite(result.nearest).all():
        nearest = _joint_columns(mechanism, result.joint_names, result.chain, result.nearest[None])
        blocks.append(Table("Nearest configuration", nearest))
    if result.batch:
        numbers = Series("solutions", result.count.ravel(), np.arange(len(poses)), style="dots")
        counted = list(dict.fromkeys(statuses))
        counts = [statuses.count(word) for word in counted]
        blocks.append(Table("Statuses", [Column("status", counted), Column("poses", counts)], media=PAGE))
        blocks.append(Curves("Solutions by pose", [numbers], "pose", "solutions"))
    fields = [
        Field("", int(result.count.sum()), meaning="solutions"),
        Field("", statuses[0] if len(set(statuses)) == 1 else f"{len(set(statuses))} statuses", meaning="status"),
        Field("method", result.method, meaning="method"),
        Field("joints", result.joint_names),
        Field("poses", [_pose_values(result, pose) for pose in poses]),
    ]
    tone = "good" if result.count.any() else "warn"
    title = f"{mechanism.name}, inverse kinematics of {result.frame}"
    return Description(title, result.summary, tone, fields, blocks)


def describe_path(result: JointPath) -> Description:
    """Describe a joint path: joint values, jumps, and the ends of branches."""
    mechanism = result.mechanism
    units = coordinate_units(mechanism)
    solved = np.flatnonzero(np.isfinite(result.q).all(axis=1))
    blocks: list[Block] = []
    if len(solved):
        scene = Scene("Along the path", mechanism, result.q[solved], [f"pose {k}" for k in solved], media=PAGE)
        blocks.append(scene)
    poses = Column("pose", list(range(len(result.q))))
    table = [poses, *_joint_columns(mechanism, result.joint_names, result.chain, result.q)]
    blocks.append(Table("Joints", table, media=TEXT))
    for unit in dict.fromkeys(units[k] for k in result.chain):
        chosen = [k for k in result.chain if units[k] == unit]
        series = [Series(result.joint_names[k], result.q[:, k], np.arange(len(result.q))) for k in chosen]
        title = f"Joints, {unit}" if unit else "Quaternions"
        blocks.append(Curves(title, series, "pose", unit, marks=[k + 0.5 for k in result.jumps], span=4))
    ended = [(k, branch) for k, branch in enumerate(result.branches, start=1) if branch.ended is not None]
    columns = [
        Column("branch", [k for k, _ in ended]),
        Column("ends before pose", [branch.ended for _, branch in ended]),
        Column("reason", [branch.reason for _, branch in ended]),
    ]
    blocks.append(Table("Branches that end", columns))
    branches = [
        {
            "poses": len(branch.q),
            "ended": branch.ended,
            "reason": branch.reason,
            "crossings": list(branch.crossings),
        }
        for branch in result.branches
    ]
    fields = [
        Field("status", result.status),
        Field("summary", result.summary),
        Field("joints", result.joint_names),
        Field("q", result.q),
        Field("", result.fraction, meaning="of the path reached", format=".0%"),
        Field("", len(result.jumps), meaning="jumps"),
        Field("jumps", result.jumps),
        Field("", len(result.unsolved), meaning="poses without solution"),
        Field("unsolved", result.unsolved),
        Field("singular", result.singular),
        Field("branches", branches),
    ]
    tone = "good" if not result.jumps and not result.unsolved else "warn"
    return Description(f"{mechanism.name}, path of {result.frame}", result.summary, tone, fields, blocks)


def describe_postures(result: Configurations) -> Description:
    """Describe the postures of a whole body, or the nearest one."""
    mechanism = _known(result.mechanism)
    q = result.q if result.count else result.nearest[None]
    labels = [f"posture {k + 1} of {len(q)}" for k in range(len(q))] if result.count else ["nearest"]
    title = "Postures" if result.count else "Nearest posture"
    names = list(result.misses)
    targets = [
        Column("target", names),
        Column("position", [1e3 * result.misses[name][0] for name in names], "mm", ".3g"),
        Column("rotation", [1e3 * result.misses[name][1] for name in names], "mrad", ".3g"),
    ]
    numbers = [
        Column("posture", list(range(1, result.count + 1))),
        Column("largest residual", result.residual.tolist(), "m or rad", ".0e"),
    ]
    columns = _joint_columns(mechanism, mechanism.coordinate_names, tuple(range(mechanism.n_q)), result.q)
    ghosts = q[:MOST_GHOSTS] if len(q) > 1 else ()
    blocks = [
        Scene(title, mechanism, q, labels, ghosts=ghosts),
        Table(f"Residuals of the {'first' if result.count else 'nearest'} posture", targets),
        Table("Coordinates", [*numbers, *columns], shown=8),
    ]
    fields = [
        Field("", result.count, meaning="postures"),
        Field("status", result.status, meaning="status"),
        Field("", len(result.misses), meaning="targets"),
    ]
    tone = "good" if result.count else "warn"
    return Description(f"{mechanism.name}, postures", result.summary, tone, fields, blocks)


def describe_workspace(result: WorkspaceMap) -> Description:
    """Describe a workspace map: layers from above, positions by height, poses by number of solutions."""
    n, tried = result.grid.size, len(result.orientations)
    heights = result.lower[2] + result.step[2] * np.arange(result.counts[2])
    layers = [result.layer(k) for k in range(len(heights))]
    reached = [layer["reached"] > 0 for layer in layers]
    filled = [k for k, some in enumerate(reached) if some.any()] or [0]
    shown = [filled[int(k)] for k in np.unique(np.linspace(0, len(filled) - 1, LAYERS).round())]
    panels = [_layer(result, heights[k], layers[k]) for k in shown]
    best = [
        float(layer["condition"][some].min(initial=np.inf)) for layer, some in zip(layers, reached, strict=True)
    ]
    columns = [
        Column("height", heights.tolist(), "m", ".3g"),
        Column("reached", [int(some.sum()) for some in reached]),
        Column("in all orientations", [int((layer["reached"] == tried).sum()) for layer in layers]),
        Column("undecided", [int((layer["undecided"] > 0).sum()) for layer in layers]),
        Column("best condition", [x if np.isfinite(x) else np.nan for x in best], format=".3g"),
    ]
    labels = ("x, m", "y, m", "orientations with a solution, %")
    size = float(min(result.step[:2]))
    note = "Dots: positions with undecided orientations."
    blocks = [
        Map("Layers from above", [panels], labels, size=size, limits=(0.0, 100.0), note=note, span=4),
        Table("Layers", columns),
        *_tally_blocks(result.tally),
    ]
    positions = {
        "all": n,
        "reached": result.n_reached,
        "reached_everywhere": result.n_everywhere,
        "undecided": result.n_undecided,
    }
    fields = [
        Field("robot", result.robot_name),
        Field("frame", result.frame),
        Field("method", result.method),
        Field("status", result.status),
        Field("summary", result.summary),
        Field("lower", result.lower),
        Field("step", result.step),
        Field("counts", result.counts),
        Field("orientations", tried),
        Field("positions", positions),
        Field("", result.n_reached / n, meaning=f"of {n} positions reached", format=".0%"),
        Field("volume", result.volume, "m³", "of cells whose centre is reached", ".3g"),
        Field("", result.n_everywhere, meaning=f"positions reached in all {tried} orientations"),
        Field("", result.n_undecided, meaning="positions undecided"),
        Field("poses", result.tally.poses),
        Field("solutions", result.tally.solutions),
        *(Field(name, value) for name, value in result.tally.plain().items()),
    ]
    return Description(f"{result.robot_name}, workspace", result.summary, _tone(result.tally), fields, blocks)


def _known(mechanism: Mechanism | None) -> Mechanism:
    if mechanism is None:
        raise ZvenoError("the result does not know its robot")
    return mechanism


def _solution_scene(result: Solutions, pose: tuple[int, ...]) -> Block:
    mechanism, q = _known(result.mechanism), result.of(*pose)
    if not len(q):
        nearest = result.nearest[pose][None]
        q = nearest if np.isfinite(nearest).all() else mechanism.neutral()[None]
        return Scene("Nearest configuration", mechanism, q, ["nearest"], frames=[result.frame], span=4)
    labels = [f"solution {k + 1} of {len(q)}" for k in range(len(q))]
    shown = q[np.unique(np.linspace(0, len(q) - 1, MOST_GHOSTS).round().astype(int))]
    return Scene("Solutions", mechanism, q, labels, ghosts=shown, frames=[result.frame], span=4)


def _solution_table(result: Solutions, mechanism: Mechanism, poses: list[tuple[int, ...]]) -> Table:
    rows = [(pose, k) for pose in poses for k in range(int(result.count[pose]))]
    q = np.array([result.q[pose][k] for pose, k in rows]).reshape(-1, mechanism.n_q)
    columns = [Column("pose", [",".join(map(str, pose)) for pose, _ in rows])] if result.batch else []
    columns += [
        Column("#", [k + 1 for _, k in rows]),
        *_joint_columns(mechanism, result.joint_names, result.chain, q),
        Column("residual", [float(result.residual[pose][k]) for pose, k in rows], format=".0e"),
        Column("condition", [float(result.condition[pose][k]) for pose, k in rows], format=".3g"),
    ]
    return Table("Solutions", columns)


def _joint_columns(
    mechanism: Mechanism, names: tuple[str, ...], chain: tuple[int, ...], q: np.ndarray
) -> list[Column]:
    units = coordinate_units(mechanism)
    return [Column(names[k], q[:, k].tolist(), units[k], ".4f") for k in chain]


def families_of(result: Solutions, pose: tuple[int, ...]) -> tuple[SelfMotion, ...]:
    """Return the self-motions of one pose."""
    flat = int(np.ravel_multi_index(pose, result.batch)) if result.batch else 0
    return result.self_motions.get(flat, ())


def _self_motions(result: Solutions, poses: list[tuple[int, ...]]) -> list[Block]:
    """Return self-motions whose ends are known: the range of the sampled joint, and the causes of the ends."""
    rows = [(pose, k + 1, family) for pose in poses for k, family in enumerate(families_of(result, pose))]
    rows = [row for row in rows if row[2].joint]
    unit = "rad"
    columns = [Column("pose", [",".join(map(str, pose)) for pose, _, _ in rows])] if result.batch else []
    columns += [
        Column("curve", [k for _, k, _ in rows]),
        Column("joint", [family.joint for _, _, family in rows]),
        Column("from", [float(family.interval[0]) for _, _, family in rows], unit, ".4f"),
        Column("to", [float(family.interval[1]) for _, _, family in rows], unit, ".4f"),
        Column("turns", [len(family.turns) for _, _, family in rows]),
        Column("ends", ["closed" if family.closed else " – ".join(family.ends) for _, _, family in rows]),
    ]
    return [Table("Self-motions", columns)]


def _pose_values(result: Solutions, pose: tuple[int, ...]) -> dict[str, Any]:
    """Return everything that is known of one pose."""
    n = int(result.count[pose])
    optional = {"radius": result.radius, "unique": result.unique}
    self_motions = [
        {
            "dimension": family.dimension,
            "closed": family.closed,
            **({"joint": family.joint, "interval": family.interval} if family.joint else {}),
            "ends": family.ends,
            "turns": family.turns,
            "q": family.q,
        }
        for family in families_of(result, pose)
    ]
    return {
        "status": str(np.asarray(result.status)[pose]),
        "summary": result.reason(*pose),
        "solutions": result.of(*pose),
        "residual": result.residual[pose][:n],
        "condition": result.condition[pose][:n],
        **{name: values[pose][:n] for name, values in optional.items() if values is not None},
        **({"self_motions": self_motions} if self_motions else {}),
    }


def _layer(result: WorkspaceMap, height: float, layer: np.ndarray) -> Panel:
    """Return one layer from above; positions that are not reached are left out."""

    def places(rows: np.ndarray) -> np.ndarray:
        return result.lower[:2] + result.step[:2] * rows[:, ::-1]

    inside = np.argwhere(layer["reached"] > 0)
    share = 100.0 * layer["reached"][tuple(inside.T)] / len(result.orientations)
    at = places(inside)
    return Panel(f"z {height:.2f} m", at[:, 0], at[:, 1], share, places(np.argwhere(layer["undecided"] > 0)))


def _tally_blocks(tally: Tally) -> list[Block]:
    numbers = sorted(tally.numbers)
    by_number = [tally.numbers[number] for number in numbers]
    by_status = {"poses": list(tally.statuses.values())}
    table = [Column("solutions", numbers), Column("poses", by_number)]
    return [
        Table("Poses by number of solutions", table, media=TEXT),
        Bars(
            "Poses by number of solutions", [str(k) for k in numbers], {"poses": by_number}, "poses", media=PICTURE
        ),
        Bars("Poses by status", list(tally.statuses), by_status, "poses"),
    ]


def _tone(tally: Tally) -> Tone:
    if not tally.solutions:
        return "bad"
    return "warn" if tally.unsure else "good"
