"""Joint axes from points that move with one joint at a time, their files, and a robot from its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, ZvenoError
from ..io.expressions import Units, nearest_of
from ..io.files import read_text
from ..io.results import registered
from ..io.tables import delimiter_of, is_comment, is_number, split_cells
from ..mechanism import Frame, Joint, Limits, Link, Mechanism, Prismatic, Revolute, assemble
from ..report.description import Description
from ..report.result import Result
from ..spatial.rotations import nearest_rotation
from ..spatial.transforms import inverse, transform
from ..spatial.vectors import skew
from .measurements.base import SIGMAS


@registered
@dataclass(frozen=True, eq=False)
class JointAxis:
    """Axis of one joint in the measuring frame.

    Attributes:
        kind: "revolute" or "prismatic".
        R, t: pose of a frame with the axis along z; at q = 0 the point lies on x (revolute), and t is the centre.
        radius: radius of the circle, m; 0 for a prismatic joint.
        scale: μ, displacement per unit of the reading of a prismatic joint, 1 for a true gear.
        residual: root mean square distance of points from the circle or line, m.
        covariance: covariance (6, 6) of (δω, δt) in the measuring frame for the estimated noise: document 001 (25),
            corrected (`frame_covariance`). For a prismatic joint, the rotation about its line is not included.
        sigma: standard deviation of a coordinate, m.
        q: joint values, (m,), rad or m.
        distances: distance of every measured point from the circle or line, (m,), m.
    """

    kind: str
    R: np.ndarray
    t: np.ndarray
    radius: float
    scale: float
    residual: float
    sigma: float
    covariance: np.ndarray
    q: np.ndarray
    distances: np.ndarray

    @property
    def T(self) -> np.ndarray:
        """Pose of the frame as a (4, 4) transform."""
        return transform(self.R, self.t)

    @property
    def direction(self) -> np.ndarray:
        """Unit vector along the axis, for positive joint motion."""
        return self.R[:, 2]


def joint_axis(q: ArrayLike, g: ArrayLike, kind: str = "revolute", sigma: float | None = None) -> JointAxis:
    """Estimate the axis of a joint that moved alone: (9) to (15), with the determinant of R corrected.

    Args:
        q: joint values, (m,), rad or m.
        g: positions of the point, (m, 3), m.
        kind: "revolute" or "prismatic".
        sigma: standard deviation of a coordinate, if known: σ² = σ_g² + r²σ_q² for a revolute joint.
    """
    q, g = np.asarray(q, dtype=float), np.asarray(g, dtype=float)
    if q.ndim != 1 or g.shape != (len(q), 3):
        raise ShapeError(f"q and g must have shapes (m,) and (m, 3), got {q.shape} and {g.shape}")
    if not (np.isfinite(q).all() and np.isfinite(g).all()):
        raise ShapeError("joint values and points must be finite")
    if kind == "revolute":
        p = np.stack([np.cos(q), np.sin(q), np.zeros_like(q)], axis=1)
        needed = 3
    elif kind == "prismatic":
        p = np.stack([np.zeros_like(q), np.zeros_like(q), q], axis=1)
        needed = 2
    else:
        raise ZvenoError(f"kind must be a joint type, got {kind!r}", remedy='Give "revolute" or "prismatic"')
    a, b = p - p.mean(axis=0), g - g.mean(axis=0)
    spread = np.linalg.svd(a, compute_uv=False)
    if len(q) < needed or spread[0 if kind == "prismatic" else 1] < 1e-6:
        raise ZvenoError(
            f"the joint moved too little, or to too few positions, to determine a {kind} axis",
            remedy=f"Measure at least {needed} different joint values, as far apart as the joint allows",
        )
    seen = np.linalg.svd(b, compute_uv=False)
    if seen[0 if kind == "prismatic" else 1] < 1e-9:
        raise ZvenoError(
            "the points do not leave one place, or one line, while the joint moves",
            remedy="Mount the target away from the axis, and check which joint moved",
        )
    R = nearest_rotation(b.T @ a)
    scale = float(np.sum(b * (a @ R.T)) / np.sum(a * a))
    t = g.mean(axis=0) - scale * (R @ p.mean(axis=0))
    r = g - (scale * p @ R.T + t)
    freedom = max(3 * len(q) - (7 if kind == "revolute" else 6), 1)
    s = float(np.sqrt(np.sum(r**2) / freedom)) if sigma is None else sigma
    radius = scale if kind == "revolute" else 0.0
    return JointAxis(
        kind,
        R,
        t,
        radius,
        1.0 if kind == "revolute" else scale,
        float(np.sqrt(np.mean(np.sum(r**2, axis=1)))),
        s,
        frame_covariance(scale * p @ R.T, s),
        q,
        np.sqrt(np.sum(r**2, axis=1)),
    )


def axis_information(points: ArrayLike) -> np.ndarray:
    """Return the inertia tensor Σ (|p|² 1 − p pᵀ) of (25), with p relative to the mean of the points (m, 3)."""
    p = np.asarray(points, dtype=float)
    if p.ndim != 2 or p.shape[1] != 3 or len(p) < 2:
        raise ShapeError(f"must have shape (m, 3) with m ≥ 2, got {p.shape}", element="points")
    p = p - p.mean(axis=0)
    return np.sum(p**2) * np.eye(3) - p.T @ p


def unseen_turns(points: ArrayLike) -> np.ndarray:
    """Return unit vectors (3, k) of rotations that do not move the points: one for collinear points, else none."""
    values, vectors = np.linalg.eigh(axis_information(points))
    return vectors[:, values <= 1e-12 * max(values[-1], 1e-300)]


def frame_covariance(points: ArrayLike, sigma: float, scale: bool = True) -> np.ndarray:
    """Return the covariance (25) of (δω, δt), (6, 6), of a frame fitted to points (m, 3), relative to its origin in
    any axes.

    The mean of the points has covariance σ²/m, and the rotation about it σ² [Σ(|p|² 1 − p pᵀ)]⁻¹. The origin is at
    −c from the mean; it moves by c × δω and, if the scale of the points is fitted too, along c. Rotations that the
    points do not determine are omitted.
    """
    p = np.asarray(points, dtype=float)
    information, hidden = axis_information(p), unseen_turns(p)
    turn = sigma**2 * (np.linalg.inv(information + hidden @ hidden.T) - hidden @ hidden.T)
    mean = p.mean(axis=0)
    arm = skew(mean)
    place = sigma**2 / len(p) * np.eye(3) + arm @ turn @ arm.T
    if scale:
        place = place + sigma**2 / np.sum((p - mean) ** 2) * np.outer(mean, mean)
    return np.block([[turn, turn @ arm.T], [arm @ turn, place]])


AxesStatus = Literal["solved"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class IdentifiedAxes(Result):
    """Robot found from motions of one joint at a time.

    Attributes:
        axes: axis of every joint, with its covariance and residual.
        q_rest: joint values of the resting joints.
        mechanism: the chain (17) in the measuring frame, with the target as the frame `tool`.
    """

    axes: tuple[JointAxis, ...]
    q_rest: np.ndarray
    mechanism: Mechanism

    kind = "axes"
    status: ClassVar[AxesStatus] = "solved"

    @property
    def summary(self) -> str:
        """Summary in one sentence."""
        worst = max(range(len(self.axes)), key=lambda k: self.axes[k].residual)
        turn = max(np.sqrt(np.trace(axis.covariance[:3, :3])) for axis in self.axes)
        return (
            f"{len(self.axes)} axes, residuals up to {1e3 * self.axes[worst].residual:.3g} mm "
            f"({self.mechanism.joints[worst].name}), directions to {np.degrees(turn):.2g}°"
        )

    def describe(self) -> Description:
        """Return the description that text and pages show."""
        from ._describe import describe_axes

        return describe_axes(self)


def identify_axes(
    q: ArrayLike,
    g: ArrayLike,
    kinds: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    sigma: float | None = None,
    moved: float = 1e-4,
) -> IdentifiedAxes:
    """Find a robot from positions of a target while one joint at a time moves: (9) to (17), no nominal model.

    `identify_axes(*read_axis_motions("axes.csv"))` takes a file. `zveno.Robot(found.mechanism).calibrate(…)` then
    refines all parameters together, (18), with postures in which all joints move. The axis frames are not those of
    a drawing: zeros and directions follow from the joint values.

    Args:
        q: joint values, (m, n), rad or m. In every row at most one joint is away from its resting value.
        g: positions of the target in the measuring frame, (m, 3), m.
        kinds: "revolute" or "prismatic" for every joint; all revolute by default.
        names: names of the joints.
        sigma: standard deviation of a coordinate, if known.
        moved: change of a joint value, rad or m, from which a joint counts as moved.
    """
    q, g = np.asarray(q, dtype=float), np.asarray(g, dtype=float)
    if q.ndim != 2 or g.shape != (len(q), 3) or not len(q):
        raise ShapeError(f"q and g must have shapes (m, n) and (m, 3), got {q.shape} and {g.shape}")
    if not (np.isfinite(q).all() and np.isfinite(g).all()):
        raise ShapeError("joint values and points must be finite")
    if sigma is not None and not SIGMAS[0] <= sigma <= SIGMAS[1]:
        raise ZvenoError(f"is {sigma}", element="sigma", remedy=f"Give {SIGMAS[0]:g} to {SIGMAS[1]:g} m")
    n = q.shape[1]
    joint_kinds = ["revolute"] * n if kinds is None else list(kinds)
    joint_names = [f"joint{k}" for k in range(1, n + 1)] if names is None else list(names)
    given = len(joint_kinds), len(joint_names)
    if given != (n, n):
        raise ShapeError(f"kinds and names must have {n} entries, one per joint, got {given[0]} and {given[1]}")
    # A joint rests at the value that most rows share.
    shared = [(np.abs(column[:, None] - column) <= moved).sum(axis=1) for column in q.T]
    q_rest = np.array([column[np.argmax(count)] for column, count in zip(q.T, shared, strict=True)])
    away = np.abs(q - q_rest) > moved
    several = np.flatnonzero(away.sum(axis=1) > 1)
    if len(several):
        together = " and ".join(joint_names[k] for k in np.flatnonzero(away[several[0]]))
        raise ZvenoError(
            f"{together} move together in row {several[0] + 1} ({len(several)} such rows)",
            element="q",
            remedy="Move one joint at a time, and leave the others at one posture",
        )
    axes = []
    for k, (name, kind) in enumerate(zip(joint_names, joint_kinds, strict=True)):
        rows = away[:, k] | ~away.any(axis=1)
        if not away[:, k].any():
            raise ZvenoError(f"{name} does not move in any row", element="q", remedy="Measure its motion, too")
        try:
            axes.append(joint_axis(q[rows, k], g[rows], kind, sigma))
        except ZvenoError as error:
            raise ZvenoError(str(error), element=name) from error
    at_rest = [
        axis.t + axis.R @ (circle([x], axis.radius)[0] if axis.kind == "revolute" else axis.scale * line([x])[0])
        for axis, x in zip(axes, q_rest, strict=True)
    ]
    mechanism = identify_chain(axes, q_rest, np.mean(at_rest, axis=0), joint_names)
    return IdentifiedAxes(tuple(axes), q_rest, mechanism)


def identify_chain(
    axes: Sequence[JointAxis], q_rest: ArrayLike, tool: ArrayLike | None = None, names: Sequence[str] | None = None
) -> Mechanism:
    """Build the S-model (17) as a mechanism: Base V(q1) T12 V(q2) … Tool, in the measuring frame.

    Args:
        axes: axes of all joints from the base, each estimated with the other joints at `q_rest`.
        q_rest: (n,) values of the resting joints during the experiment.
        tool: position of the measured point in the measuring frame at `q_rest`, (3,); by default the frame of the
            last axis.
        names: names of the joints.
    """
    q = np.asarray(q_rest, dtype=float)
    if q.shape != (len(axes),):
        raise ShapeError(f"must have shape ({len(axes)},), one value per axis, got {q.shape}", element="q_rest")
    names = [f"joint{k}" for k in range(1, len(axes) + 1)] if names is None else list(names)
    links, joints = [Link("base", inertia_given=False)], []
    T_measure_link = np.eye(4)
    for k, (axis, name) in enumerate(zip(axes, names, strict=True), start=1):
        kind = Revolute() if axis.kind == "revolute" else Prismatic()
        # The axis frame belongs to q = 0 of its own joint: it is fixed on the previous link.
        joints.append(
            Joint(name, links[-1].name, f"link{k}", kind, inverse(T_measure_link) @ axis.T, limits=Limits())
        )
        links.append(Link(f"link{k}", inertia_given=False))
        T_measure_link = axis.T @ kind.motion(q[k - 1 : k])
    frames = []
    if tool is not None:
        p = (inverse(T_measure_link) @ np.array([*np.asarray(tool, dtype=float), 1.0]))[:3]
        frames = [Frame("tool", links[-1].name, transform(None, p))]
    return assemble("identified", links, joints, frames, source="joint axes identified from points")


def circle(q: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Return points (m, 3) of a revolute joint at angles q, its axis along z through the origin."""
    q = np.asarray(q, dtype=float)
    return radius * np.stack([np.cos(q), np.sin(q), np.zeros_like(q)], axis=-1)


def line(q: ArrayLike) -> np.ndarray:
    """Return points (m, 3) of a prismatic joint at positions q, along z."""
    q = np.asarray(q, dtype=float)
    return q[:, None] * np.array([0.0, 0.0, 1.0])


COORDINATES = ("x", "y", "z")
SETTINGS = ("unit", "angle", "prismatic")


class AxisMotions(NamedTuple):
    """Joint values (m, n), positions (m, 3), joint types and joint names, in the order of `identify_axes`."""

    q: np.ndarray
    g: np.ndarray
    kinds: list[str]
    names: list[str]


def read_axis_motions(path: str | PathLike[str]) -> AxisMotions:
    """Read a CSV file of motions of one joint at a time, for `identify_axes`, in SI units.

        # unit = mm                  of x, y, z and of prismatic joints: "m", "cm" or "mm"; m by default
        # angle = deg                of revolute joints: "deg" or "rad"; rad by default
        # prismatic = joint3         names of prismatic joints, if there are any
        joint1, joint2, joint3, x, y, z
        -60, 20, 100, 812.4, 33.1, 405.9

    Every row is one position of the target. The columns x, y and z are its coordinates, all others are joints, from
    the base outward. In every row at most one joint is away from the posture that the others rest in.
    """
    settings, rows = {"unit": "m", "angle": "rad", "prismatic": ""}, []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        text = line.strip()
        if is_comment(text):
            key, sign, value = (part.strip() for part in text.lstrip("#%").partition("="))
            if sign and key not in SETTINGS:
                raise ModelError(
                    f"{key!r} is not a setting",
                    file=path,
                    element=f"line {number}",
                    remedy=nearest_of(key, SETTINGS),
                )
            settings |= {key: value} if sign else {}
        elif text:
            rows.append((number, text))
    if len(rows) < 2:
        raise ModelError("it has no rows", file=path, remedy="Write a line of column names, then positions")
    delimiter = delimiter_of(rows[0][1])
    header = split_cells(rows[0][1], delimiter)
    missing = [name for name in COORDINATES if header.count(name) != 1]
    names = [name for name in header if name not in COORDINATES]
    if missing or not names or len(set(names)) < len(names):
        raise ModelError(
            f"the columns are {', '.join(header)}",
            file=path,
            element=f"line {rows[0][0]}",
            remedy="Name one column x, one y, one z, and the others by their joints",
        )
    table = np.empty((len(rows) - 1, len(header)))
    for k, (number, text) in enumerate(rows[1:]):
        cells = split_cells(text, delimiter)
        if len(cells) != len(header) or not all(is_number(cell) for cell in cells):
            raise ModelError(
                f"the row is not {len(header)} numbers",
                file=path,
                element=f"line {number}",
                remedy="Correct or remove it",
            )
        table[k] = [float(cell) for cell in cells]
    units = _units(settings, path)
    prismatic = settings["prismatic"].replace(",", " ").split()
    unknown = [name for name in prismatic if name not in names]
    if unknown:
        raise ModelError(
            f"no column {unknown[0]!r}", file=path, element="prismatic", remedy=nearest_of(unknown[0], names)
        )
    kinds = ["prismatic" if name in prismatic else "revolute" for name in names]
    factors = [units.si(1.0, "length" if kind == "prismatic" else "angle") for kind in kinds]
    q = table[:, [header.index(name) for name in names]] * factors
    g = table[:, [header.index(name) for name in COORDINATES]] * units.si(1.0, "length")
    return AxisMotions(q, g, kinds, names)


def _units(settings: dict[str, str], path: object) -> Units:
    for key, known in (("unit", ("m", "cm", "mm")), ("angle", ("rad", "deg"))):
        if settings[key] not in known:
            raise ModelError(
                f"{settings[key]!r} is not a unit", file=path, element=key, remedy=nearest_of(settings[key], known)
            )
    return Units(settings["unit"], settings["angle"])
