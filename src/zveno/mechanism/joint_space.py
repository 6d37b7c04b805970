"""Configuration space of a list of joints: layout of q and v, and their kinematics."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, unknown_name
from ..spatial.vectors import is_masked
from .joints import turned_less
from .parts import Joint, Mimic

if TYPE_CHECKING:
    from .mechanism import Mechanism


class JointSpace:
    """Coordinates q (n_q,) and velocities v (n_v,) of joints in their order; mimic joints have none."""

    name: str
    joints: tuple[Joint, ...]

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that have coordinates of their own, in the order of q."""
        return tuple(joint.name for joint in self.joints if self._is_coordinate(joint))

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q: the joint's name, with a suffix if it has several coordinates."""
        return tuple(
            f"{joint.name}.{suffix}" if suffix else joint.name
            for joint in self.joints
            if self._is_coordinate(joint)
            for suffix in joint.type.suffixes
        )

    @cached_property
    def n_q(self) -> int:
        """Number of coordinates."""
        return sum(joint.type.n_q for joint in self.joints if self._is_coordinate(joint))

    @cached_property
    def n_v(self) -> int:
        """Number of velocities: n_q minus one per quaternion."""
        return sum(joint.type.n_v for joint in self.joints if self._is_coordinate(joint))

    @cached_property
    def q_slices(self) -> dict[str, slice]:
        """Slice of q for every joint; a mimic joint has that of its leader."""
        return self._slices("n_q")

    @cached_property
    def v_slices(self) -> dict[str, slice]:
        """Slice of v for every joint; a mimic joint has that of its leader."""
        return self._slices("n_v")

    def joint_positions(self, q: Any) -> list[Any]:
        """Coordinates of every joint's own type, by link number (entry 0 is empty), mimic relations applied."""
        positions = [q[:0]]
        for joint in self.joints:
            part = q[self.q_slices[joint.name]]
            if joint.mimic is not None:
                part = joint.mimic.multiplier * part + joint.mimic.offset
            positions.append(part)
        return positions

    def joint_velocities(self, v: Any) -> list[Any]:
        """Velocities (or accelerations) of every joint's own type, by link number, mimic relations applied."""
        velocities = [v[:0]]
        for joint in self.joints:
            part = v[self.v_slices[joint.name]]
            velocities.append(part if joint.mimic is None else joint.mimic.multiplier * part)
        return velocities

    def gather_velocities(self, per_link: Sequence[Any]) -> Any:
        """Apply the transpose of `joint_velocities`: sum contributions by link number into one (n_v,) vector.

        The torque of a mimic joint acts on its leader, scaled by the multiplier.
        """
        parts: dict[str, list] = {name: [] for name in self.joint_names}
        for i, joint in enumerate(self.joints, start=1):
            if joint.mimic is not None:
                parts[joint.mimic.joint].append(joint.mimic.multiplier * per_link[i])
            elif joint.type.n_v:
                parts[joint.name].append(per_link[i])
        sums = [sum(contributions[1:], start=contributions[0]) for contributions in parts.values()]
        return np.concatenate(sums) if sums else np.zeros(0)

    def pack(self, values: Mapping[str, object], default: ArrayLike | None = None) -> np.ndarray:
        """Build q from values by joint name, numbers or (n_q,) arrays; other joints are at `default` or neutral."""
        q = self.neutral() if default is None else self.checked_q(np.array(default, dtype=float))
        for name, value in values.items():
            if name not in self.q_slices or name not in self.joint_names:
                raise unknown_name("joint with coordinates", name, self.joint_names)
            coordinates = q[..., self.q_slices[name]]
            try:
                coordinates[...] = value
            except (TypeError, ValueError):
                raise ShapeError(
                    f"must have {coordinates.shape[-1]} number(s), got {value!r}",
                    element=f"joint {name}",
                ) from None
        return q

    def unpack(self, q: ArrayLike) -> dict[str, np.ndarray | float]:
        """Map joint names to their coordinates: a number, or an array for joints with several."""
        q = self.checked_q(q)
        parts = {joint.name: (joint.type, q[..., self.q_slices[joint.name]]) for joint in self._coordinate_joints}
        return {name: part[..., 0] if kind.n_q == 1 else part.copy() for name, (kind, part) in parts.items()}

    def neutral(self) -> np.ndarray:
        """Neutral configuration: every joint at zero and every quaternion at the identity."""
        return self._join([joint.type.neutral() for joint in self._coordinate_joints])

    def random(self, rng: np.random.Generator | int | None = None, shape: int | Sequence[int] = ()) -> np.ndarray:
        """Draw uniform random q (*shape, n_q) within the limits; ±π and ±1 m for joints without limits."""
        rng, shape = np.random.default_rng(rng), checked_shape(shape)
        if self.n_q == self.n_v:  # no quaternions: draw all states at once
            return rng.uniform(*self._random_range, size=(*shape, self.n_q))
        parts = []
        for joint in self._coordinate_joints:
            part = joint.type.random(rng, *self._range_of(joint), shape)
            parts.append(turned_less(part, joint.limits.angle) if np.isfinite(joint.limits.angle) else part)
        return np.concatenate(parts, axis=-1)

    def integrate(self, q: Any, v: Any) -> Any:
        """Integrate q with the constant velocity v over unit time, (n_q,); traced entries allowed."""
        return self._join(
            [
                joint.type.integrate(q[self.q_slices[joint.name]], v[self.v_slices[joint.name]])
                for joint in self._coordinate_joints
            ]
        )

    def difference(self, q0: Any, q1: Any) -> Any:
        """Constant velocity (n_v,) that moves q0 to q1 in unit time: the inverse of `integrate`."""
        return self._join(
            [
                joint.type.difference(q0[self.q_slices[joint.name]], q1[self.q_slices[joint.name]])
                for joint in self._coordinate_joints
            ]
        )

    def tangent(self, q: Any) -> Any:
        """Block-diagonal (n_q, n_v) matrix with q̇ = tangent(q) v; the identity if there are no quaternions."""
        rows = [[0.0] * self.n_v for _ in range(self.n_q)]
        for joint in self._coordinate_joints:
            block = joint.type.tangent(q[self.q_slices[joint.name]])
            for i, row in enumerate(block, start=self.q_slices[joint.name].start):
                rows[i][self.v_slices[joint.name]] = list(row)
        return np.array(rows).reshape(self.n_q, self.n_v)

    def normalized(self, q: Any) -> Any:
        """Scale every quaternion of q to unit length."""
        return self._join(
            [joint.type.normalized(q[self.q_slices[joint.name]]) for joint in self._coordinate_joints]
        )

    @cached_property
    def lower(self) -> np.ndarray:
        """Lower limits of q, (n_q,), −inf if there is none; limits of mimic joints are included."""
        return self._join([self._range_of(joint)[0] for joint in self._coordinate_joints])

    @cached_property
    def upper(self) -> np.ndarray:
        """Upper limits of q, (n_q,), +inf if there is none; limits of mimic joints are included."""
        return self._join([self._range_of(joint)[1] for joint in self._coordinate_joints])

    def _range_of(self, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits of a joint's coordinates that keep it and its mimic joints within their limits."""
        low, high = np.asarray(joint.limits.lower), np.asarray(joint.limits.upper)
        for mimic, limits in self._followers.get(joint.name, ()):
            if mimic.multiplier:
                ends = sorted((float(side) - mimic.offset) / mimic.multiplier for side in limits)
                low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        if not (low <= high).all():
            raise ModelError(
                "its limits and those of its mimic joints leave no feasible range",
                element=f"joint {joint.name}",
                remedy="Widen or remove the limits of the joints that mimic it",
            )
        return low + 0.0, high + 0.0  # a range of one point has no −0 as its end, which NumPy would refuse

    @cached_property
    def _followers(self) -> dict[str, list[tuple[Mimic, tuple[Any, Any]]]]:
        """Mimic relations and limits of the mimic joints, by the joint they follow."""
        followers: dict[str, list[tuple[Mimic, tuple[Any, Any]]]] = {}
        for joint in self.joints:
            if joint.mimic is not None:
                sides = (np.ravel(joint.limits.lower)[0], np.ravel(joint.limits.upper)[0])
                followers.setdefault(joint.mimic.joint, []).append((joint.mimic, sides))
        return followers

    def checked_q(self, q: ArrayLike, name: str = "q") -> np.ndarray:
        """Convert q to a float array (..., n_q); raise if its last axis has another length."""
        return self._as_array(q, self.n_q, name)

    def checked_v(self, v: ArrayLike, name: str = "v") -> np.ndarray:
        """Convert v to a float array (..., n_v); raise if its last axis has another length."""
        return self._as_array(v, self.n_v, name)

    def _as_array(self, x, n: int, name: str) -> np.ndarray:
        if hasattr(x, "iloc"):
            from .units import by_name

            x = by_name(cast("Mechanism", self), x)
        if is_masked(x):
            raise ShapeError("must not have masked entries", element=name, remedy="Fill or remove them")
        if np.iscomplexobj(x):
            raise ShapeError("must be an array of real numbers", element=name, remedy="Leave out imaginary parts")
        try:
            array = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError("must be an array of real numbers", element=name) from None
        if array.ndim == 0 or array.shape[-1] != n:
            raise ShapeError(
                f"must have {n} numbers in the last axis for {self.name}, got shape {array.shape}",
                element=name,
                remedy="Order: " + (", ".join(self.coordinate_names) or "none"),
            )
        return array

    @cached_property
    def _random_range(self) -> tuple[np.ndarray, np.ndarray]:
        ranges = [joint.type.random_range(*self._range_of(joint)) for joint in self._coordinate_joints]
        return self._join([low for low, _ in ranges]), self._join([high for _, high in ranges])

    @staticmethod
    def _is_coordinate(joint: Joint) -> bool:
        return joint.mimic is None and joint.type.n_q > 0

    @cached_property
    def _coordinate_joints(self) -> tuple[Joint, ...]:
        return tuple(joint for joint in self.joints if self._is_coordinate(joint))

    def _slices(self, count: str) -> dict[str, slice]:
        slices, start = {}, 0
        for joint in self.joints:
            size = getattr(joint.type, count) if joint.mimic is None else 0
            slices[joint.name] = slice(start, start + size)
            start += size
        return slices | {j.name: slices[j.mimic.joint] for j in self.joints if j.mimic is not None}

    @staticmethod
    def _join(parts: Sequence):
        return np.concatenate(parts) if parts else np.zeros(0)


def checked_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Convert a batch shape to a tuple of non-negative integers."""
    try:
        sizes = (
            tuple(map(operator.index, shape))
            if isinstance(shape, Sequence | np.ndarray)
            else (operator.index(shape),)
        )
    except TypeError:
        raise ShapeError(f"must be an integer or a tuple of integers, got {shape!r}", element="shape") from None
    if any(size < 0 for size in sizes):
        raise ShapeError(f"must not be negative, got {shape!r}", element="shape")
    return sizes
