"""Identified model as a robot, a model file and C code."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls

from ..base_parameters.base_model import BaseModel, base_inverse_dynamics
from ..base_parameters.drives import couplings
from ..base_parameters.regressor import states_of
from ..errors import ModelError, ZvenoError
from ..export import Export, export_programs
from ..kernels.trace import trace
from ..mechanism import Drive, Mechanism
from ..mechanism.edit import rebuilt
from ..mechanism.reduce import reduced
from ..robot_functions import RobotFunctions
from ._friction import TERMS

if TYPE_CHECKING:
    from .result import Identification

NAME = "identified_inverse_dynamics"


def identified_mechanism(result: Identification) -> tuple[Mechanism, tuple[str, ...]]:
    """Return the full mechanism with identified inertias and drives, and notes on what it cannot hold."""
    mechanism, p = result.mechanism, result.parameters
    moved = {int(place) // 10 + 1 for place in result.unknown_places if place < 10 * len(mechanism.joints)}
    inertias = {mechanism.link_names[i]: p[10 * (i - 1) : 10 * i] for i in moved}
    links = [
        replace(link, inertia=inertias[link.name], inertia_given=True) if link.name in inertias else link
        for link in result.nominal.links
    ]
    drives, lost = _drives(result)
    joints = [
        replace(joint, drive=drives[joint.name]) if joint.name in drives else joint
        for joint in result.nominal.joints
    ]
    return rebuilt(result.nominal, links=links, joints=joints), tuple(lost)


def _drives(result: Identification) -> tuple[dict[str, Drive], list[str]]:
    """Return the drives of the recorded joints, and the identified friction that they cannot hold."""
    mechanism = result.mechanism
    n, first = mechanism.n_v, 10 * len(mechanism.joints)
    estimated = {int(place) - first for place in result.unknown_places if place >= first}
    p = result.parameters[first:]
    speeds = result.validation.series.v
    drives, lost = {}, []
    bent = []
    for row, name in enumerate(result.joint_names):
        v = mechanism.v_slices[name].start
        old = mechanism.joint(name).drive or Drive().shaped(1)
        viscous, coulomb, share = _simplified(result, row, speeds[:, row])
        rotor = p[v : v + 1] if v in estimated else old.rotor_inertia
        offset = p[3 * n + v : 3 * n + v + 1] if 3 * n + v in estimated else old.offset
        drives[name] = Drive(rotor, old.gear_ratio, viscous, coulomb, offset)
        if share > 0.01:
            bent.append(f"{name} ({share:.0%} of its friction)")
    coupled = sorted({result.names[k] for k, motor in _motor_columns(result) if motor})
    inertia = [result.base.parameter_names[first + k] for k in estimated if k >= 4 * n]
    if bent:
        held = "drives of a model have viscous and Coulomb friction only, which differs from the identified"
        lost.append(f"{held}: {', '.join(bent)}")
    if coupled or inertia:
        lost.append(f"motors that two joints turn: {', '.join([*sorted(inertia), *coupled])}")
    if result.torque_names:
        lost.append(f"torque columns: {', '.join(result.torque_names)}")
    return drives, lost


def _motor_columns(result: Identification) -> list[tuple[int, bool]]:
    """Return (number of the parameter, whether a coupled motor's) of every friction column."""
    elements = result.model.elements
    first = len(result.kept)
    return [(first + k, elements[column.element].motor) for k, column in enumerate(result.friction)]


def _simplified(result: Identification, coordinate: int, speeds: np.ndarray) -> tuple[float, float, float]:
    """Return the viscous and Coulomb friction nearest to a joint's curve at the recorded velocities, neither
    negative.

    The third number is the rms of the residual over that of the curve.
    """
    model, first = result.model, len(result.kept)
    grid = np.quantile(abs(speeds), np.linspace(0.02, 1.0, 200)) if len(speeds) else np.linspace(0.01, 1.0, 200)
    grid = np.maximum(grid, 1e-9)
    load = _typical_load(result, coordinate)
    curve = np.zeros(len(grid))
    for k, column in enumerate(result.friction):
        element = model.elements[column.element]
        if element.coordinate == coordinate and not element.motor:
            values = [
                TERMS[column.term].curve(s * grid, float(model.scales[column.element]), load) for s in (1, -1)
            ]
            odd = 0.5 * (values[0] - values[1])  # what differs between directions, drives cannot have
            curve += result.values[first + k] * odd
    (viscous, coulomb), left = nnls(np.stack([grid, np.ones(len(grid))], axis=1), curve)
    size = float(np.linalg.norm(curve))
    return float(viscous), float(coulomb), float(left) / size if size > 0 else 0.0


def _typical_load(result: Identification, coordinate: int) -> float:
    series = result.validation.series
    if not len(series.t):
        return 0.0
    return float(np.mean(abs(series.measured[:, coordinate] - series.friction[:, coordinate])))


def identified_torques(
    mechanism: Mechanism,
    places: tuple[int, ...],
    values: tuple[float, ...],
    load: tuple[float, ...],
    friction: tuple[tuple[str, float, float, tuple[float, ...], int], ...],
    coupling: tuple[tuple[int, int, float, float], ...],
    q: Any,
    v: Any,
    a: Any,
) -> Any:
    """Return torques (n_v,) of the identified model, traced for C.

    Args:
        mechanism: reduced.
        places, values, load: base parameters in the pseudo-inertia view, and those that predict the load.
        friction: term, factor, velocity scale, direction and coordinate of every column.
        coupling: (motor, joint, inertia, inertia that predicts the load) of motors that two joints turn.
        q, v, a: the state.
    """
    torques = list(base_inverse_dynamics(mechanism, places, q, v, a, values))
    needs_load = any(TERMS[term].needs_load for term, *_ in friction)
    loads = list(base_inverse_dynamics(mechanism, places, q, v, a, load)) if needs_load else []
    for motor, joint, inertia, of_load in coupling:
        for sums, factor in ((torques, inertia), (loads, of_load)):
            if sums:
                sums[motor] = sums[motor] + factor * a[joint]
                sums[joint] = sums[joint] + factor * a[motor]
    for term, factor, scale, direction, coordinate in friction:
        speed = sum(d * v[k] for k, d in enumerate(direction) if d)
        curve = TERMS[term].curve(speed, scale, loads[coordinate] if loads else None)
        for k, d in enumerate(direction):
            if d:
                torques[k] = torques[k] + factor * d * curve
    return np.array(torques)


def export_identified(
    result: Identification, directory: str | PathLike[str], *, single: bool = False, force: bool = False
) -> Export:
    """Export C as described in `Identification.export_c`."""
    if result.mechanism.loops:
        raise ModelError(
            "C in base parameters does not know closed loops",
            element=result.mechanism.name,
            remedy="zveno.loops.ClosedRobot(result.robot).export_c(...)",
        )
    if result.torque_names:
        raise ZvenoError(
            f"torque columns are functions of Python: {', '.join(result.torque_names)}",
            remedy="Add their torques in your own code",
        )
    drives = ("rotor", "offset")
    base_model = BaseModel(RobotFunctions(_with_parameters(result, result.parameters)), drives=drives)
    first = 10 * len(result.mechanism.joints)
    base_values = np.zeros(result.base.rank)
    base_values[result.kept] = np.where(result.model.weightless, 0.0, result.load)
    lifted = result.base.lift(base_values)
    load = _other_values(base_model, result, lifted)
    elements = result.model.elements
    friction = tuple(
        (
            column.term,
            float(result.values[len(result.kept) + k]),
            float(result.scales[column.element]),
            tuple(elements[column.element].direction.tolist()),
            elements[column.element].coordinate,
        )
        for k, column in enumerate(result.friction)
    )
    beyond = first + 4 * result.mechanism.n_v
    coupling = tuple(
        (motor, joint, float(result.parameters[beyond + k]), float(lifted[beyond + k]))
        for k, (motor, joint) in enumerate(couplings(result.mechanism))
    )
    program = trace(
        identified_torques,
        states_of(base_model.mechanism),
        name=NAME,
        outputs=("tau",),
        constants=(
            base_model.mechanism,
            tuple(base_model.base.columns.tolist()),
            tuple(base_model.values.tolist()),
            tuple(load.tolist()),
            friction,
            coupling,
        ),
    )
    return export_programs(RobotFunctions(result.mechanism), [program], directory, single=single, force=force)


def _other_values(model: BaseModel, result: Identification, p: np.ndarray) -> np.ndarray:
    """Return the base parameters (rank,) of link and rotor parameters p, physically consistent or not."""
    n, first = result.mechanism.n_v, 10 * len(result.mechanism.joints)
    links = p.copy()
    links[first:] = 0.0
    bare = replace(model.base, mechanism=reduced(_with_parameters(result, links)).mechanism)
    q = bare.model_parameters
    q[10 * len(bare.mechanism.joints) :][:n] = p[first : first + n]
    return bare.project(q)


def _with_parameters(result: Identification, p: np.ndarray) -> Mechanism:
    """Return the recorded mechanism with links, rotors and offsets of p; they need not be those of bodies."""
    mechanism = result.mechanism
    n, first = mechanism.n_v, 10 * len(mechanism.joints)
    links = [mechanism.links[0]]
    links += [replace(link, inertia=p[10 * i : 10 * i + 10]) for i, link in enumerate(mechanism.links[1:])]
    joints = []
    for joint in mechanism.joints:
        if joint.name in result.joint_names:
            v = mechanism.v_slices[joint.name].start
            ratio = 1.0 if joint.drive is None else joint.drive.gear_ratio
            drive = Drive(p[first + v], ratio, offset=p[first + 3 * n + v])
            joint = replace(joint, drive=drive)
        joints.append(joint)
    return replace(mechanism, links=tuple(links), joints=tuple(joints))
