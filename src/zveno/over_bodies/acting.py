"""What acts on a tree beside its drives: wrenches on links, and friction in joints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..kernels.math import sign, tanh
from ..kernels.structured.build import Builder
from ..kernels.structured.parts import Part, Rows
from ..kernels.structured.statements import Variable
from ..spatial.transforms import move_wrench, transform
from .bodies import Bodies

ByBody = Callable[[Variable], list[Part]]
"""For a body the rows that say something about it, none or one."""


def external_wrenches(program: Builder, bodies: Bodies, external: bool) -> ByBody:
    """An input `external` (n_links, 6) of wrenches on the links; for every body all that act on it, in its axes."""
    if not external:
        return lambda i: []
    n_links = len(bodies.carriers)
    given = program.input("external", (n_links, 6), width=6)
    on_body = program.table("wrench_place", bodies.T_body_link[:, :3].reshape(n_links, 12))
    carrier = program.index("wrench_carrier", bodies.carriers + 1)
    always = program.index("always", np.ones(n_links))
    acting = program.scratch("acting", bodies.n + 1, 6, zero=True)
    with program.each(n_links) as k:
        acting[carrier[k]] = program.step(_on_body, on_body[k], given[k]).added_if(always[k])
    return lambda i: [acting[i + 1]]


def _on_body(place: Any, wrench: Any) -> Any:
    rows = place.reshape(3, 4)
    return move_wrench(transform(rows[:, :3], rows[:, 3]), wrench)


def friction_torques(program: Builder, bodies: Bodies, v: Rows, smoothing: float) -> Rows:
    """What friction takes at every velocity, (n_v,) rows: viscous · v + coulomb · sign(v) + offset."""
    constants = program.table("friction_constants", bodies.friction)
    spent = program.scratch("friction", bodies.n_v, 1)
    with program.each(bodies.n_v) as k:
        spent[k] = program.step(partial(_friction, smoothing), constants[k], v[k])
    return spent


def _friction(smoothing: float, constants: Any, v: Any) -> Any:
    viscous, coulomb, offset = constants
    direction = tanh(v / smoothing) if smoothing else sign(v)
    return viscous * v + coulomb * direction + offset
