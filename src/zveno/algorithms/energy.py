"""Energy and momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..spatial.transforms import move_wrench
from .center_of_mass import first_moment
from .drives import rotor_torque
from .mass_matrix import momentum
from .tree import MOTION, NUMBER, POSE, Tree, numbers, tree_of
from .velocities import carried_motion


def energy(mechanism: Mechanism | Tree, q: Any, v: Any = None) -> tuple[Any, Any]:
    """Return kinetic energy ½ Σ twist · momentum of links, with rotors, and potential energy −g · Σ m_i c_i, J.

    The potential energy is zero if the centre of mass is at the world's origin.
    """
    tree = tree_of(mechanism)
    kinetic, potential = tree.result("kinetic"), tree.result("potential")
    T, motion, twice, moment = tree.column(POSE), tree.column(MOTION), tree.cell(NUMBER), tree.cell(numbers(3))
    at, rate = tree.positions(q), tree.velocities(v)
    moment.value = tree.base_inertia[1:4]
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], np.zeros(i.joint.type.n_v), motion[i.parent])
        twist = motion[i].twist
        twice.value = twice.value + twist @ momentum(i.inertia, twist) + i.rotor @ (rate[i] * rate[i])
        moment.value = moment.value + first_moment(i.inertia, T[i])
    if tree.transmission is not None and v is not None:
        twice.value = twice.value + v @ rotor_torque(tree.mechanism, v)
    kinetic.value = 0.5 * twice.value
    potential.value = -(tree.gravity @ moment.value)
    return kinetic.whole(), potential.whole()


def kinetic_energy(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> Any:
    """Return the kinetic energy, J, rotors included."""
    return energy(mechanism, q, v)[0]


def potential_energy(mechanism: Mechanism, q: np.ndarray) -> Any:
    """Return the potential energy, J."""
    return energy(mechanism, q)[1]


def total_energy(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> Any:
    """Return the sum of kinetic and potential energy, J."""
    kinetic, potential = energy(mechanism, q, v)
    return kinetic + potential


def total_momentum(mechanism: Mechanism | Tree, q: Any, v: Any) -> Any:
    """Return `[p, L]`: linear momentum, and angular momentum about the world's origin, in world axes, (6,)."""
    tree = tree_of(mechanism)
    total, T, motion = tree.result("momentum", 6), tree.column(POSE), tree.column(MOTION)
    at, rate = tree.positions(q), tree.velocities(v)
    total.value = np.zeros(6)
    for i in tree.outward():
        T[i] = T[i.parent] @ i.joint.transform(at[i])
        motion[i] = carried_motion(i.joint, at[i], rate[i], np.zeros(i.joint.type.n_v), motion[i.parent])
        total.value = total.value + move_wrench(T[i], momentum(i.inertia, motion[i].twist))
    return total.whole()
