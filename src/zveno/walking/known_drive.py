"""Drive model for a controller that commands torques."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..mechanism import Drive, Mechanism
from ..simulation.drives import DriveModel
from ..simulation.hydraulics.drive import GAIN_SHARE, HydraulicDrive
from ..simulation.hydraulics.flows import volumes


class KnownDrive(NamedTuple):
    """Inertia and friction that drives add to the joints, as the controller sees them."""

    mechanism: Mechanism
    """with the inertia as that of rotors"""
    viscous: np.ndarray
    """N·m·s/rad or N·s/m, (n_v,)"""


def known_drive(mechanism: Mechanism, drive: DriveModel | None, q: np.ndarray) -> KnownDrive:
    """Return the mechanism with the effect of hydraulic drives near a configuration; unchanged for other drives.

    The valve lags by 2 ζ/ω in following the flow A ẋ that the piston takes. The oil, of stiffness
    K = β (A²/V_a + B²/V_b), turns the missing flow into a force against the acceleration, K (2 ζ/ω) ẍ per second,
    and the pressure loop removes it at its gain k:

        force wanted − force = K (2 ζ/ω)/k ẍ,

    an inertia. At a foot of a biped it is ten times the foot's own; a controller that ignores it lets swinging feet
    lag and land tilted.
    """
    viscous = np.zeros(mechanism.n_v)
    if not isinstance(drive, HydraulicDrive) or drive.command != "torque":
        return KnownDrive(mechanism, viscous)
    joints = list(mechanism.joints)
    for i, joint in enumerate(joints):
        cylinder = drive.cylinders.get(joint.name)
        if cylinder is None:
            continue
        x, arm = cylinder.lever.extension(joint, q[mechanism.q_slices[joint.name].start], cylinder.stroke)
        stiffness = cylinder.bulk_modulus * sum(
            area * area / volume for area, volume in zip(cylinder.areas, volumes(cylinder, x), strict=True)
        )
        valve = cylinder.valve
        gain = GAIN_SHARE * valve.omega if drive.pressure_gain is None else drive.pressure_gain
        inertia = arm * arm * stiffness * (2.0 * valve.damping / valve.omega) / gain
        own = Drive() if joint.drive is None else joint.drive
        rotor = np.asarray(own.rotor_inertia, dtype=float) + inertia / np.square(own.gear_ratio)
        joints[i] = replace(joint, drive=replace(own, rotor_inertia=rotor))
        viscous[mechanism.v_slices[joint.name]] = arm * arm * cylinder.viscous
    return KnownDrive(replace(mechanism, joints=tuple(joints)), viscous)
