"""The dynamics of one state as plain data, and as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...algorithms.drives import FRICTION_SMOOTHING, friction_torque
from ...algorithms.energy import kinetic_energy, potential_energy
from ...algorithms.floating import Partitioned, has_trunk, partitioned, warn_near_trunk_singularity
from ...algorithms.inverse_dynamics import bias, gravity_torque
from ...algorithms.mass_matrix import mass_matrix
from ...algorithms.singular import refuse_singular
from ...functions import function_named
from ...mechanism import Mechanism
from ...mechanism.units import velocity_names, velocity_units

MOST_COLUMNS = 40
"""Larger matrices are only written as JSON."""
_N_BASE = 6


def dynamics_data(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: Any = None, tau: Any = None, friction: bool = False
) -> dict[str, Any]:
    """Torques for accelerations a, or accelerations under torques tau if those are given, and what goes with them.

    Args:
        mechanism: the mechanism.
        q, v: the state, (n_q,) and (n_v,).
        a: accelerations (n_v,), zero if neither they nor torques are given.
        tau: torques (n_v,).
        friction: whether the drives' friction counts.
    """
    given = "a" if tau is None else "tau"
    if tau is None:
        a = np.zeros(mechanism.n_v) if a is None else a
        tau = _computed("inverse_dynamics", mechanism, q, v, a, friction)
    else:
        refuse_singular(mechanism)
        warn_near_trunk_singularity(mechanism, q)
        a = _computed("forward_dynamics", mechanism, q, v, tau, friction)
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
    if friction:
        smoothing = 0.0 if given == "a" else FRICTION_SMOOTHING
        data["friction_torque"] = friction_torque(mechanism, v, smoothing).tolist()
    if is_floating(mechanism):
        data["partitioned"] = {name: part.tolist() for name, part in partitioned(M, h)._asdict().items()}
    return data


def is_floating(mechanism: Mechanism) -> bool:
    """Whether the equations have a part that belongs to a base which nothing drives."""
    return has_trunk(mechanism) or [joint.type.kind for joint in mechanism.joints[:1]] == ["free"]


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
    names = data["velocity_names"]
    if "partitioned" not in data:
        _print_matrix(console, "mass matrix, kg·m² (kg·m, kg)", data["mass_matrix"], names)
        return
    base, joints = names[:_N_BASE], names[_N_BASE:]
    blocks = Partitioned(**{name: np.array(part) for name, part in data["partitioned"].items()})
    _print_matrix(console, "I_II: the base", blocks.I_II, base)
    _print_matrix(console, "I_IR: between base and joints", blocks.I_IR, joints)
    _print_matrix(console, "I_RR: the joints", blocks.I_RR, joints)
    _print_matrix(console, "H_I: bias of the base", blocks.H_I[:, None], base)
    _print_matrix(console, "H_R: bias of the joints", blocks.H_R[:, None], joints)


def _computed(name: str, mechanism: Mechanism, q, v, last, friction: bool):
    function = function_named(name).compute
    assert function is not None
    return function(mechanism, q, v, last, friction=friction)


def _state_table(data: dict[str, Any], degrees: bool) -> Table:
    """One line a velocity: what was given, what was found, and the shares of gravity, bias and friction."""
    turning = np.array([unit == "rad" for unit in data["units"]], dtype=bool)
    factor = np.where(turning & degrees, 180.0 / np.pi, 1.0)
    length, force = ("deg" if degrees else "rad", "N·m"), ("m", "N")
    columns = {"v": factor * data["v"], "a": factor * data["a"]}
    if len(data["q"]) == len(turning):
        columns = {"q": factor * list(data["q"].values())} | columns
    columns |= {"τ": data["tau"], "gravity": data["gravity_torque"], "bias": data["bias"]}
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
    """A matrix with its rows named, in as many blocks of columns as the width asks for."""
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
    """Five significant digits; what is 1e-12 or less is shown as nothing but zero."""
    return f"{x:.5g}" if abs(x) > 1e-12 else "0"
