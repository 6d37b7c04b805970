"""Which constants of a robot are inputs of a kernel, and where their values come from.

A derived robot keeps the kernels of the robot it was made from; its own payload, tool, gravity and inertia are
bound to them. A call may give some constants as well. What is given replaces what is bound, and a payload is added
to the one that the link holds: as if the derived robot had been built with its numbers from the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ShapeError, unknown_name
from .functions import PARAMETERS
from .mechanism import Mechanism

KernelInputs = tuple[tuple[str | None, np.ndarray | None], ...]
"""Of every input: the name a call gives it by, if it does, and the value bound to it, if there is one."""


def explicit_parameters(mechanism: Mechanism, names: Sequence[str]) -> dict[str, str]:
    """Parameters with the link they act on, `payload:LINK`, by which they were named."""
    explicit: dict[str, str] = {}
    for name in names:
        kind, colon, link = name.partition(":")
        on_a_link = kind in ("tool", "payload")
        if kind not in PARAMETERS or (colon and not on_a_link):
            raise unknown_name("parameter", name, PARAMETERS)
        if on_a_link:
            link = link or mechanism.default_frame.link
            mechanism.link_number(link)
        full = f"{kind}:{link}" if on_a_link else kind
        if full in explicit or (kind == "tool" and any(other.startswith("tool:") for other in explicit)):
            raise ShapeError("is given twice", element=f"parameter {name}", remedy="Name each constant once")
        explicit[full] = name
    return explicit


def kernel_inputs(
    bound: Mapping[str, np.ndarray], given: Mapping[str, str]
) -> dict[str, tuple[str | None, np.ndarray | None]]:
    """Inputs of a kernel by parameter, see `KernelInputs`; `given` is from `explicit_parameters`."""
    kinds = {name.partition(":")[0] for name in given}
    kept = {name: value for name, value in bound.items() if not _replaced(name, kinds)}
    return {
        name: (given.get(name), kept.get(name)) for name in (*kept, *(name for name in given if name not in kept))
    }


def _replaced(bound: str, given_kinds: set[str]) -> bool:
    """Whether constants given in a call take the place of one that is bound."""
    kind = bound.partition(":")[0]
    return "inertia" in given_kinds if kind == "payload" else kind in given_kinds


def given_value(constants: Mapping[str, Any], name: str | None, bound: np.ndarray | None) -> Any:
    """The value of an input in one call; only payloads are both given and bound."""
    if name is None:
        return bound
    return constants[name] if bound is None else np.asarray(constants[name], dtype=float) + bound
