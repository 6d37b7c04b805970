"""A mass on a slide and an arm on a pin, each with a hydraulic cylinder, for the tests of hydraulic drives."""

from dataclasses import replace

import numpy as np

import zveno
from zveno.mechanism import Joint, Link, Prismatic, Revolute, assemble
from zveno.simulation import (
    ConstantLever,
    HydraulicCylinder,
    HydraulicDrive,
    HydraulicSupply,
    PivotLever,
    ServoValve,
)
from zveno.spatial import inertia

PRESSURE, MASS = 21e6, 80.0
VALVE = ServoValve(rated_flow=10 / 60000)
CYLINDER = HydraulicCylinder(VALVE, area=4e-4)
"""Ten litres a minute, a rod on both sides, 100 mm of stroke."""


def slides(n: int = 1) -> zveno.Robot:
    """n masses that slide on level ground beside one another."""
    body = inertia.parameters(MASS, np.zeros(3), np.eye(3))
    links = [Link("base"), *(Link(f"mass{k}", body) for k in range(n))]
    return zveno.Robot(
        assemble("slides", links, [Joint(f"slide{k}", "base", f"mass{k}", Prismatic((1, 0, 0))) for k in range(n)])
    )


def pinned_arm() -> tuple[zveno.Robot, HydraulicCylinder]:
    """An arm of 20 kg that a cylinder lifts: pins below the joint on the base and out on the arm."""
    body = inertia.parameters(20.0, np.array([0.4, 0.0, 0.0]), np.diag([0.1, 1.1, 1.1]))
    joint = Joint("shoulder", "base", "arm", Revolute((0, -1, 0)))
    lever = PivotLever(parent=(0.05, 0.0, -0.3), child=(0.2, 0.0, 0.0), retracted=0.285)
    cylinder = replace(CYLINDER, rod_area=2.5e-4, lever=lever, leakage=2e-13, viscous=200.0, coulomb=60.0)
    return zveno.Robot(assemble("arm", [Link("base"), Link("arm", body)], [joint])), cylinder


def drive_of(
    cylinder: HydraulicCylinder = CYLINDER, n: int = 1, command: str = "valve", **supply
) -> HydraulicDrive:
    """The same cylinder at each of the n slides."""
    return HydraulicDrive({f"slide{k}": cylinder for k in range(n)}, HydraulicSupply(PRESSURE, **supply), command)


def started_at(x: float, cylinder: HydraulicCylinder = CYLINDER) -> HydraulicCylinder:
    """A cylinder whose slide is at q = 0 when it is extended by x from the middle."""
    return replace(cylinder, lever=ConstantLever(1.0, -x))
