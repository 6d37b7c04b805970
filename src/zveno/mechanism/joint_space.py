"""The space that q and v of a list of joints live in: where each joint's numbers stand, and how they move."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, unknown_name
from .parts import Joint


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
        """A name for every entry of q: the joint's, with a suffix where it has several."""
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
        """Number of velocities: smaller than n_q by one for every quaternion."""
        return sum(joint.type.n_v for joint in self.joints if self._is_coordinate(joint))

    @cached_property
    def q_slices(self) -> dict[str, slice]:
        """Where every joint's coordinates stand in q; a mimic joint has its leader's."""
        return self._slices("n_q")

    @cached_property
    def v_slices(self) -> dict[str, slice]:
        """Where every joint's velocities stand in v; a mimic joint has its leader's."""
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
        """The transpose of `joint_velocities`: parts by link number summed into one (n_v,) vector.

        Torques of mimic joints act on their leader, multiplied as its velocity is.
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
        """q from a mapping of joint names to numbers or (n_q,) arrays; others are at `default` or neutral."""
        q = self.neutral() if default is None else self.checked_q(np.array(default, dtype=float))
        for name, value in values.items():
            if name not in self.q_slices or name not in self.joint_names:
                raise unknown_name("joint with coordinates", name, self.joint_names)
            coordinates = q[..., self.q_slices[name]]
            try:
                coordinates[...] = value
            except (TypeError, ValueError):
                raise ShapeError(
                    f"value {value!r} does not fit",
                    element=f"joint {name}",
                    remedy=f"It takes {coordinates.shape[-1]} numbers",
                ) from None
        return q

    def unpack(self, q: ArrayLike) -> dict[str, np.ndarray | float]:
        """A mapping of joint names to their coordinates: a number, or an array for joints with several."""
        q = self.checked_q(q)
        parts = {joint.name: (joint.type, q[..., self.q_slices[joint.name]]) for joint in self._coordinate_joints}
        return {name: part[..., 0] if kind.n_q == 1 else part.copy() for name, (kind, part) in parts.items()}

    def neutral(self) -> np.ndarray:
        """q with every joint at zero and every quaternion at the identity."""
        return self._join([joint.type.neutral() for joint in self._coordinate_joints])

    def random(self, rng: np.random.Generator | int | None = None, shape: int | Sequence[int] = ()) -> np.ndarray:
        """Uniform random q within the limits, of batch shape `shape`: (..., n_q); ±π and ±1 m without limits."""
        rng, shape = np.random.default_rng(rng), checked_shape(shape)
        if self.n_q == self.n_v:  # no quaternions: all states in one draw
            return rng.uniform(*self._random_range, size=(*shape, self.n_q))
        parts = [
            joint.type.random(rng, joint.limits.lower, joint.limits.upper, shape)
            for joint in self._coordinate_joints
        ]
        return np.concatenate(parts, axis=-1)

    def integrate(self, q: Any, v: Any) -> Any:
        """q after moving with constant velocity v for unit time, (n_q,); traced entries allowed."""
        return self._join(
            [
                joint.type.integrate(q[self.q_slices[joint.name]], v[self.v_slices[joint.name]])
                for joint in self._coordinate_joints
            ]
        )

    def difference(self, q0: Any, q1: Any) -> Any:
        """The constant velocity (n_v,) that takes q0 to q1 in unit time: the inverse of `integrate`."""
        return self._join(
            [
                joint.type.difference(q0[self.q_slices[joint.name]], q1[self.q_slices[joint.name]])
                for joint in self._coordinate_joints
            ]
        )

    def tangent(self, q: Any) -> Any:
        """(n_q, n_v) matrix with q̇ = tangent(q) v, block by block; the identity without quaternions."""
        rows = [[0.0] * self.n_v for _ in range(self.n_q)]
        for joint in self._coordinate_joints:
            block = joint.type.tangent(q[self.q_slices[joint.name]])
            for i, row in enumerate(block, start=self.q_slices[joint.name].start):
                rows[i][self.v_slices[joint.name]] = list(row)
        return np.array(rows).reshape(self.n_q, self.n_v)

    def normalized(self, q: Any) -> Any:
        """q with every quaternion scaled to unit length."""
        return self._join(
            [joint.type.normalized(q[self.q_slices[joint.name]]) for joint in self._coordinate_joints]
        )

    @cached_property
    def lower(self) -> np.ndarray:
        """Lower limits of q, (n_q,), −inf where there is none."""
        return self._join([joint.limits.lower for joint in self._coordinate_joints])

    @cached_property
    def upper(self) -> np.ndarray:
        """Upper limits of q, (n_q,), +inf where there is none."""
        return self._join([joint.limits.upper for joint in self._coordinate_joints])

    def checked_q(self, q: ArrayLike, what: str = "q") -> np.ndarray:
        """q as a float array (..., n_q), refused with a clear error if its last axis is wrong."""
        return self._checked(q, self.n_q, what)

    def checked_v(self, v: ArrayLike, what: str = "v") -> np.ndarray:
        """v as a float array (..., n_v), refused with a clear error if its last axis is wrong."""
        return self._checked(v, self.n_v, what)

    def _checked(self, x, n: int, what: str) -> np.ndarray:
        try:
            array = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError("is not an array of real numbers", element=what) from None
        if array.ndim == 0 or array.shape[-1] != n:
            raise ShapeError(
                f"has shape {array.shape}, and {self.name} needs {n} numbers in the last axis",
                element=what,
                remedy="Order: " + (", ".join(self.coordinate_names) or "none"),
            )
        return array

    @cached_property
    def _random_range(self) -> tuple[np.ndarray, np.ndarray]:
        ranges = [
            joint.type.random_range(joint.limits.lower, joint.limits.upper) for joint in self._coordinate_joints
        ]
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
    """A batch shape as a tuple of numbers that are not negative."""
    try:
        sizes = (
            tuple(map(operator.index, shape))
            if isinstance(shape, Sequence | np.ndarray)
            else (operator.index(shape),)
        )
    except TypeError:
        raise ShapeError(f"{shape!r} is not a number or a tuple of numbers", element="shape") from None
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{shape!r} is negative", element="shape", remedy="Give how many, 0 or more")
    return sizes
