"""Gear ratios and rotor inertias from the `<transmission>` elements of a URDF, where they are unambiguous."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from .xml import Element, to_floats

DRAKE = "http://drake.mit.edu"
"""Namespace of the two elements that Drake adds to an actuator."""


@dataclass(frozen=True)
class Gear:
    """Texts of a simple transmission, with their place."""

    gear_ratio: str | None
    rotor_inertia: str | None
    where: str

    def values(self, counts: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Return fields of a `Drive`, each a scalar or one value per velocity."""
        fields = {}
        for name in ("gear_ratio", "rotor_inertia"):
            text = getattr(self, name)
            if text is not None:
                fields[name] = np.array(to_floats(text, counts, f"{self.where}, {name}"))
        if np.any(fields.get("gear_ratio", 1.0) == 0.0) or np.any(fields.get("rotor_inertia", 0.0) < 0.0):
            raise ModelError(
                "a gear ratio is zero or a rotor inertia is negative",
                element=self.where,
                remedy="A gear ratio is not zero; a rotor inertia is zero or positive",
            )
        return fields


def gears(root: Element) -> tuple[dict[str, Gear], list[str]]:
    """Return gears by joint name, and notes on the transmissions left out.

    One joint and one actuator, and one such transmission per joint, are unambiguous. Everything else
    (differentials, four-bar linkages) couples joints in ways the element does not specify.
    """
    by_joint: dict[str, list[Gear]] = {}
    left_out = []
    for element in root.all("transmission"):
        joints, actuators = element.all("joint"), element.all("actuator")
        if len(joints) != 1 or len(actuators) != 1 or not joints[0].attributes.get("name"):
            left_out.append(element.attributes.get("name", f"on line {element.line}"))
            continue
        ratio = _value(actuators[0], "gear_ratio") or _text(actuators[0]) or _text(element)
        where = f"transmission {element.attributes.get('name', '')} (line {element.line})"
        gear = Gear(ratio, _value(actuators[0], "rotor_inertia"), where)
        by_joint.setdefault(joints[0].attributes["name"], []).append(gear)
    notes = [f"transmissions not read: {', '.join(left_out)}"] if left_out else []
    several = [name for name, of_joint in by_joint.items() if len(of_joint) > 1]
    if several:
        notes.append(f"several transmissions drive the same joint and were not read: {', '.join(several)}")
    return {name: of_joint[0] for name, of_joint in by_joint.items() if len(of_joint) == 1}, notes


def _text(element: Element) -> str | None:
    reductions = element.all("mechanicalReduction")
    return reductions[0].text if reductions and reductions[0].text.strip() else None


def _value(actuator: Element, name: str) -> str | None:
    elements = actuator.all(f"{{{DRAKE}}}{name}")
    return elements[0].attributes.get("value") if elements else None
