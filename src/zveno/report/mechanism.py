"""Mechanisms, poses and the dynamics of one state, as plain data and as text.

In the printed tree, only the children of a branching link are indented. Indenting every joint would push the hand
of a humanoid off the screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..algorithms.center_of_mass import total_mass
from ..algorithms.drives import FRICTION_SMOOTHING, friction_torque
from ..algorithms.energy import kinetic_energy, potential_energy
from ..algorithms.inverse_dynamics import bias, gravity_torque
from ..algorithms.jacobian import jacobian
from ..algorithms.mass_matrix import mass_matrix
from ..algorithms.singular import refuse_singular
from ..errors import UnknownNameError
from ..mechanism import JOINT_TYPES, Joint, Mechanism
from ..mechanism.plausibility import impossible_loads, links_without_inertia
from ..mechanism.units import joint_units, velocity_names, velocity_units
from ..spatial.rotations import to_quaternion, to_rpy
from .columns import number


def summary(mechanism: Mechanism) -> dict[str, Any]:
    """Summarize links, joints, frames, totals and notes as plain data in SI units; infinite limits are None."""
    kinds = [joint.type.kind for joint in mechanism.joints]
    return {
        "name": mechanism.name,
        "source": mechanism.source,
        "n_q": mechanism.n_q,
        "n_v": mechanism.n_v,
        "n_links": mechanism.n_links,
        "joint_counts": {kind: kinds.count(kind) for kind in JOINT_TYPES if kind in kinds},
        "mass": float(total_mass(mechanism)),
        "gravity": mechanism.gravity.tolist(),
        "default_frame": default_frame_name(mechanism),
        "links": [
            {"name": link.name, "mass": float(link.inertia[0]), "inertia_given": link.inertia_given}
            for link in mechanism.links
        ],
        "joints": [joint_summary(mechanism, joint) for joint in mechanism.joints],
        "frames": [{"name": frame.name, "link": frame.link} for frame in mechanism.frames],
        "coupled_drives": mechanism.transmission is not None,
        "loops": [
            {"frame": loop.frame, "other": loop.other, "locked": list(loop.locked)} for loop in mechanism.loops
        ],
        "motors": None if mechanism.motors is None else list(mechanism.motors),
        "notes": list(mechanism.notes),
        "links_without_inertia": list(links_without_inertia(mechanism)),
        "impossible_inertias": impossible_loads(mechanism),
        "fingerprint": mechanism.fingerprint,
    }


def joint_summary(mechanism: Mechanism, joint: Joint) -> dict[str, Any]:
    """Summarize one joint as plain data; `q` is the range of its coordinates, [first, last + 1], or None."""
    coordinates = mechanism.q_slices[joint.name]
    names = ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset")
    return {
        "name": joint.name,
        "kind": joint.type.kind,
        "parent": joint.parent,
        "child": joint.child,
        "q": [coordinates.start, coordinates.stop]
        if joint.mimic is None and coordinates.stop > coordinates.start
        else None,
        "parameters": {name: np.asarray(value).tolist() for name, value in joint.type.parameters().items()},
        "lower": _finite(joint.limits.lower),
        "upper": _finite(joint.limits.upper),
        "velocity": _finite(joint.limits.velocity),
        "effort": _finite(joint.limits.effort),
        "mimic": None
        if joint.mimic is None
        else {"joint": joint.mimic.joint, "multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset},
        "drive": None if joint.drive is None else {name: getattr(joint.drive, name).tolist() for name in names},
    }


def default_frame_name(mechanism: Mechanism) -> str | None:
    """Name of the default frame; None if the mechanism has several ends and no `tool` or `tool0`."""
    try:
        return mechanism.default_frame.name
    except UnknownNameError:
        return None


def _finite(values) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in np.atleast_1d(values)]


GUIDE, JOINT, QUIET = "dim", "bold", "dim"
KIND_STYLES = {"revolute": "dark_orange", "continuous": "yellow", "prismatic": "cyan", "fixed": "dim"}
_GAP = 2
_LETTERS = dict(zip("xyz", np.eye(3), strict=True))


@dataclass(frozen=True)
class _Row:
    """Table cells of a joint, and the tree lines that continue below it."""

    tree: Text
    below: str
    motion: Text
    range: Text
    q: str
    link: str
    mass: str


def mechanism_tree(mechanism: Mechanism, degrees: bool = False, width: int = 80) -> RenderableType:
    """Format the tree with joints, axes, limits, indices in q, links and masses, fitted to a width if possible.

    Args:
        mechanism: the mechanism.
        degrees: True for angles in degrees.
        width: available columns; if they are too few, links are printed on separate lines.
    """
    rows = _rows(mechanism, degrees)
    root = mechanism.links[0]
    title = Text.assemble(
        (root.name, JOINT), ("  fixed in the world", QUIET), (f"  {mass_text(root.inertia[0])}", QUIET)
    )
    wide = [
        ("joint", [row.tree for row in rows]),
        ("motion", [row.motion for row in rows]),
        ("range", [row.range for row in rows]),
        ("q", [row.q for row in rows]),
        ("link", [row.link for row in rows]),
        ("mass", [row.mass for row in rows]),
    ]
    if not rows:
        return title
    if _total_width(wide) <= width:
        return Group(title, _table(wide))
    return Group(title, _narrow(rows, width))


def motion_text(joint: Joint) -> str:
    """Format the type and axes of a joint: `revolute −z`, `helical x 0.01`."""
    words = [
        axis_text(value) if np.ndim(value) else short(float(value)) for value in joint.type.parameters().values()
    ]
    return " ".join([joint.type.kind, *words])


def axis_text(axis: Any) -> str:
    """Format a unit axis as a signed letter or as three numbers."""
    for letter, unit in _LETTERS.items():
        for sign, vector in (("", unit), ("-", -unit)):
            if np.array_equal(axis, vector):
                return sign + letter
    return "(" + " ".join(short(x) for x in axis) + ")"


def range_text(joint: Joint, degrees: bool = False) -> str:
    """Format the limits of a joint's coordinates with their unit, or its mimic relation."""
    if joint.mimic is not None:
        offset = joint.mimic.offset
        tail = f" {'-' if offset < 0 else '+'} {short(abs(offset))}" if offset else ""
        return f"= {short(joint.mimic.multiplier)} · {joint.mimic.joint}{tail}"
    ranges = []
    for unit, low, high in zip(joint_units(joint), *_bounds(joint), strict=True):
        if math.isinf(low) and math.isinf(high):
            ranges.append("")
            continue
        if unit == "rad" and degrees:
            unit, low, high = "°", math.degrees(low), math.degrees(high)
        ends = f"{short(low)} … {short(high)}".replace("inf", "∞")
        ranges.append(f"{ends}°" if unit == "°" else f"{ends} {unit}".rstrip())
    if not any(ranges):
        return "" if joint.type.n_q == 0 else "unlimited"
    return "; ".join(interval or "unlimited" for interval in ranges)


def short(x: float) -> str:
    """Format a number with four significant digits."""
    return f"{x:.4g}"


def mass_text(mass: float) -> str:
    """Format a mass with its unit; empty for a massless link."""
    return f"{mass:.4g} kg" if mass else ""


def _bounds(joint: Joint):
    return np.atleast_1d(joint.limits.lower).tolist(), np.atleast_1d(joint.limits.upper).tolist()


def _rows(mechanism: Mechanism, degrees: bool) -> list[_Row]:
    """Rows in the order of the links (depth first)."""
    rows = []
    under = {0: ""}  # tree lines in front of the children of a link
    for i, f, joint in mechanism.outward():
        siblings = mechanism.tree.children(f)
        last = i == siblings[-1]
        branches = len(siblings) > 1 or f == 0
        mark = ("└─ " if last else "├─ ") if branches else ""
        under[i] = under[f] + (("   " if last else "│  ") if branches else "")
        place_in_q = mechanism.q_slices[joint.name]
        count = place_in_q.stop - place_in_q.start
        place = f"{place_in_q.start}" if count == 1 else f"{place_in_q.start}–{place_in_q.stop - 1}"
        link = mechanism.links[i]
        style = KIND_STYLES.get(joint.type.kind, "magenta")
        rows.append(
            _Row(
                Text.assemble((under[f] + mark, GUIDE), (joint.name, JOINT if count else QUIET)),
                under[i] + ("│  " if len(mechanism.tree.children(i)) > 1 else ""),
                Text(motion_text(joint), style=style),
                Text(range_text(joint, degrees), style="italic" if joint.mimic else ""),
                place if count and joint.mimic is None else "",
                link.name,
                mass_text(link.inertia[0]),
            )
        )
    return rows


def _total_width(columns) -> int:
    widths = [max(cell_len(str(cell)) for cell in [head, *cells]) for head, cells in columns]
    return sum(widths) + _GAP * (len(columns) - 1)


def _table(columns) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=QUIET)
    for head, _ in columns:
        table.add_column(head, justify="right" if head in ("q", "mass") else "left", overflow="fold")
    for cells in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return table


def _narrow(rows: list[_Row], width: int) -> Text:
    """Format one line per joint and one for its link; a third line if the name leaves no room for the motion."""
    motion = max(row.motion.cell_len for row in rows)
    beside = motion + max(row.range.cell_len for row in rows) + len("q[10]") + 2 * _GAP
    column = max(width - beside - _GAP, 16)
    lines = []
    for row in rows:
        place = f"q[{row.q}]" if row.q else ""
        aligned = " " * (motion - row.motion.cell_len) if row.range or place else ""
        tail = Text.assemble(row.motion, aligned, *_join_cells(row.range, place))
        moved = Text(", ".join(part for part in (f"→ {row.link}", row.mass) if part), style=QUIET)
        gap = max(column - row.tree.cell_len, 0) + _GAP
        below = Text(row.below, style=GUIDE)
        if row.tree.cell_len + gap + tail.cell_len <= width:
            lines.append(Text.assemble(row.tree, " " * gap, tail))
        else:
            lines += [row.tree, below + tail]
        lines.append(below + moved)
    return Text("\n").join(lines)


def _join_cells(*parts: Text | str) -> list[Text | str]:
    return [piece for part in parts if part for piece in (" " * _GAP, part)]


_MOST_NAMES = 12


def print_info(console: Console, mechanism: Mechanism, facts: dict[str, Any], degrees: bool = False) -> None:
    """Print a mechanism; `facts` is its `summary`."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in facts["joint_counts"].items()) or "none"
    console.print(Text(facts["name"], style="bold") + Text(f", joints: {kinds}", style="dim"), end="\n\n")
    console.print(mechanism_tree(mechanism, degrees, console.width))
    console.print()
    console.print(_facts_table(facts))
    drives = [joint for joint in facts["joints"] if joint["drive"]]
    if drives:
        console.print()
        console.print(_drive_table(drives))
        if facts["coupled_drives"]:
            console.print("The drives are coupled by a transmission matrix, which replaces the gear ratios.")
    for title, lines in (("Notes", facts["notes"]), ("Worth a second look", _problems(facts))):
        if lines:
            console.print()
            console.print(Text(title, style="bold"))
            for line in lines:
                console.print(_bullet(line))


def _facts_table(facts: dict[str, Any]) -> Table:
    frames = [f"{frame['name']} (on {frame['link']})" for frame in facts["frames"]]
    default = facts["default_frame"]
    rows = [
        ("coordinates", f"n_q = {facts['n_q']}, n_v = {facts['n_v']}"),
        ("links", f"{facts['n_links']}, with {mass_text(facts['mass']) or 'no mass'} in all"),
        ("default frame", default or "none: name one with --frame"),
        ("other frames", _shorten_list(frames) if frames else "none; every link's name is a frame"),
        ("gravity", " ".join(short(g) for g in facts["gravity"]) + " m/s²"),
        ("source", facts["source"] or "not given"),
    ]
    if facts["loops"]:
        loops = [f"{loop['frame']}–{loop['other']} ({' '.join(loop['locked'])})" for loop in facts["loops"]]
        rows.insert(1, ("loops", _shorten_list(loops)))
        rows.insert(2, ("motors", "not named" if facts["motors"] is None else _shorten_list(facts["motors"])))
    if "mobility" in facts:
        rows.insert(3, ("mobility", facts["mobility"]["text"]))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


_DRIVE_COLUMNS = {
    "rotor_inertia": ("rotor kg·m²", 0.0),
    "gear_ratio": ("gear", 1.0),
    "viscous": ("viscous", 0.0),
    "coulomb": ("coulomb", 0.0),
    "offset": ("offset", 0.0),
}
"""Headers of the drive table, and the default value of each column."""


def _drive_table(joints: list[dict[str, Any]]) -> Table:
    """Table of the drives of joints; columns with default values only are omitted."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("drive", overflow="fold")
    telling = [
        key
        for key, (_, default) in _DRIVE_COLUMNS.items()
        if any(value != default for joint in joints for value in joint["drive"][key])
    ]
    for key in telling:
        table.add_column(_DRIVE_COLUMNS[key][0], justify="right")
    for joint in joints:
        table.add_row(Text(joint["name"]), *(" ".join(short(x) for x in joint["drive"][key]) for key in telling))
    return table


def _problems(facts: dict[str, Any]) -> list[str]:
    missing = facts["links_without_inertia"]
    lines = [f"moving links without inertia: {_shorten_list(missing)}"] if missing else []
    return lines + [f"link {name}: {problem}" for name, problem in facts["impossible_inertias"].items()]


def _bullet(line: str) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row("•", Text(line))
    return row


def _shorten_list(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def pose_data(T: Any) -> dict[str, Any]:
    """Convert a pose (4, 4) to matrix, position (m), quaternion `wxyz` and roll, pitch, yaw (rad)."""
    T = np.asarray(T, dtype=float)
    return {
        "T": T.tolist(),
        "position": T[:3, 3].tolist(),
        "quaternion_wxyz": to_quaternion(T[:3, :3]).tolist(),
        "rpy": to_rpy(T[:3, :3]).tolist(),
    }


def pose_table(pose: dict[str, Any], name: str, degrees: bool = False) -> Table:
    """Format a pose: matrix, position, quaternion and roll, pitch, yaw."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    for _ in range(4):
        table.add_column(justify="right")
    for k, row in enumerate(pose["T"]):
        table.add_row(name if k == 0 else "", *(number(x) for x in row))
    table.add_row()
    table.add_row("position, m", *(number(x) for x in pose["position"]))
    table.add_row("quaternion wxyz", *(number(x) for x in pose["quaternion_wxyz"]))
    angles = np.degrees(pose["rpy"]) if degrees else pose["rpy"]
    table.add_row(f"roll pitch yaw, {'deg' if degrees else 'rad'}", *(number(x) for x in angles))
    return table


def link_table(poses: dict[str, dict[str, Any]]) -> Table:
    """Format positions and quaternions of links, one line per link."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("link", overflow="fold")
    for name in ("x, m", "y", "z", "qw", "qx", "qy", "qz"):
        table.add_column(name, justify="right")
    for link, pose in poses.items():
        table.add_row(link, *(number(x, 4) for x in (*pose["position"], *pose["quaternion_wxyz"])))
    return table


def catalogue(mechanisms: Mapping[str, Mechanism]) -> list[dict[str, Any]]:
    """Summarize several mechanisms in a line or two each."""
    entries = []
    for name, mechanism in mechanisms.items():
        kinds = [joint.type.kind for joint in mechanism.joints]
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        entries.append(
            {
                "name": name,
                "joints": counts,
                "mass": float(total_mass(mechanism)),
                "source": mechanism.source,
                "notes": list(mechanism.notes),
            }
        )
    return entries


def print_catalogue(console: Console, entries: list[dict[str, Any]]) -> None:
    """Print robots with name, joints, mass and the source of the parameters."""
    for entry in entries:
        joints = ", ".join(f"{count} {kind}" for kind, count in entry["joints"].items())
        mass = mass_text(entry["mass"]) or "no masses"
        console.print(Text.assemble((entry["name"], "bold"), f"  {joints}, {mass}"))
        console.print(Padding(Text(entry["source"], style="dim"), (0, 0, 0, 2)))


MOST_COLUMNS = 40
"""Maximum number of columns of a printed matrix; larger ones are only written as JSON."""


def dynamics_data(
    mechanism: Mechanism,
    q: np.ndarray,
    v: np.ndarray,
    a: Any = None,
    tau: Any = None,
    friction: bool = False,
    wrenches: Mapping[str, np.ndarray] | None = None,
    constrained: Callable[[np.ndarray], Any] | None = None,
) -> dict[str, Any]:
    """Compute torques from accelerations a, or accelerations from torques tau, and their contributions.

    Args:
        mechanism: the mechanism.
        q, v: the state, (n_q,) and (n_v,).
        a: accelerations (n_v,), zero if neither they nor torques are given.
        tau: torques (n_v,).
        friction: True to include the friction of the drives.
        wrenches: force and moment on frames, (6,) each, in world axes at the frame's origin.
        constrained: function of torques that returns a `ConstrainedMotion`, for a robot under constraints.
    """
    given = "a" if tau is None else "tau"
    loads = {frame: jacobian(mechanism, q, frame).T @ wrench for frame, wrench in (wrenches or {}).items()}
    load = sum(loads.values(), np.zeros(mechanism.n_v))
    motion = None
    if tau is None:
        a = np.zeros(mechanism.n_v) if a is None else a
        tau = _evaluate("inverse_dynamics", mechanism, q, v, a, friction) - load
    else:
        refuse_singular(mechanism)
        if constrained is not None:
            motion = constrained(tau + load)
        a = motion.a if motion else _evaluate("forward_dynamics", mechanism, q, v, tau + load, friction)
    M, h = mass_matrix(mechanism, q), bias(mechanism, q, v)
    kinetic, potential = float(kinetic_energy(mechanism, q, v)), float(potential_energy(mechanism, q))
    data = {
        "robot": mechanism.name,
        "given": given,
        "velocity_names": list(velocity_names(mechanism)),
        "units": list(velocity_units(mechanism)),
        "q": dict(zip(mechanism.coordinate_names, q.tolist(), strict=True)),
        "v": v.tolist(),
        "a": np.asarray(a).tolist(),
        "tau": np.asarray(tau).tolist(),
        "gravity_torque": gravity_torque(mechanism, q).tolist(),
        "bias": h.tolist(),
        "energy": {"kinetic": kinetic, "potential": potential, "total": kinetic + potential},
        "mass_matrix": M.tolist(),
    }
    if loads:
        data["load_torque"] = load.tolist()
    if motion:
        data["constraints"] = f"{motion.status}: {motion.reason}" if motion.reason else motion.status
        data["reactions"] = dict(zip(motion.names, motion.reactions.tolist(), strict=True))
    if friction:
        smoothing = 0.0 if given == "a" else FRICTION_SMOOTHING
        data["friction_torque"] = friction_torque(mechanism, v, smoothing).tolist()
    return data


def print_dynamics(console: Console, data: dict[str, Any], degrees: bool = False) -> None:
    """Print `dynamics_data`."""
    computed = "torques" if data["given"] == "a" else "accelerations"
    console.print(Text(f"{data['robot']}: {computed}", style="bold"), end="\n\n")
    console.print(_state_table(data, degrees))
    energy = data["energy"]
    console.print()
    console.print(
        Text(", ".join(f"{name} {_number(energy[name])} J" for name in energy)), Text("energy", style="dim")
    )
    _print_matrix(console, "mass matrix, kg·m² (kg·m, kg)", data["mass_matrix"], data["velocity_names"])
    if "reactions" in data:
        console.print()
        console.print(Text(f"constraints {data['constraints']}; reactions, N or N·m", style="dim"))
        for name, x in data["reactions"].items():
            console.print(Text(f"{name}  {_number(x)}"))


def _evaluate(name: str, mechanism: Mechanism, q, v, last, friction: bool):
    from ..functions import function_named  # what a mechanism is needs no algorithms

    function = function_named(name).compute
    assert function is not None
    return function(mechanism, q, v, last, joint_friction=friction)


def _state_table(data: dict[str, Any], degrees: bool) -> Table:
    """Table with one line per velocity: input, result, and contributions of gravity, bias and friction."""
    turning = np.array([unit == "rad" for unit in data["units"]], dtype=bool)
    factor = np.where(turning & degrees, 180.0 / np.pi, 1.0)
    length, force = ("deg" if degrees else "rad", "N·m"), ("m", "N")
    columns = {"v": factor * data["v"], "a": factor * data["a"]}
    if len(data["q"]) == len(turning):
        columns = {"q": factor * list(data["q"].values())} | columns
    columns |= {"τ": data["tau"], "gravity": data["gravity_torque"], "bias": data["bias"]}
    if "load_torque" in data:
        columns["loads"] = data["load_torque"]
    if "friction_torque" in data:
        columns["friction"] = data["friction_torque"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("joint", overflow="fold")
    for name in columns:
        computed = name == ("τ" if data["given"] == "a" else "a")
        table.add_column(name, justify="right", style="bold" if computed else "")
    table.add_column("units", style="dim")
    for k, name in enumerate(data["velocity_names"]):
        cells = [_number(values[k]) for values in columns.values()]
        table.add_row(Text(name), *cells, ", ".join(length if turning[k] else force))
    return table


def _print_matrix(console: Console, title: str, matrix, names: list[str]):
    """Print a matrix with row names, in blocks of columns that fit the width."""
    cells = [[_number(x) for x in row] for row in matrix]
    n = len(cells[0]) if cells else 0
    console.print()
    console.print(Text(title, style="dim"))
    if max(n, len(cells)) > MOST_COLUMNS:
        console.print(f"{len(cells)} × {n} numbers; --json prints them")
        return
    gap = 2
    columns = [max(len(row[k]) for row in cells) + gap for k in range(n)]
    room = max(console.width - max((len(name) for name in names), default=0) - gap, max(columns, default=0))
    first = 0
    while first < n:
        last = first + 1
        while last < n and sum(columns[first : last + 1]) <= room:
            last += 1
        if (first, last) != (0, n):
            console.print(Text(f"columns {first + 1} … {last}", style="dim"))
        table = Table.grid(padding=(0, gap, 0, 0))
        table.add_column(overflow="fold")
        for _ in range(first, last):
            table.add_column(justify="right", no_wrap=True)
        for name, row in zip(names, cells, strict=True):
            table.add_row(Text(name), *row[first:last])
        console.print(table)
        first = last


def _number(x: float) -> str:
    """Format with five significant digits; values up to 1e-12 are shown as zero."""
    return f"{x:.5g}" if abs(x) > 1e-12 else "0"
