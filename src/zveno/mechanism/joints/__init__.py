"""Joint types. Only this package depends on them: a new one is a class here and an entry of `JOINT_TYPES`.

A joint type is the relative motion of two frames: the joint frame, fixed on the parent, and the moved
frame, fixed on the child. It defines

- `motion(q)`: (4, 4) transform from the moved to the joint frame;
- `subspace(q)`: (6, n_v) matrix S; the moved frame's twist relative to the joint frame, in the moved
  frame's axes at its origin, is `[v, w] = S q̇`;
- `subspace_rate(q, v)`: (6, n_v) matrix Ṡ, so that the twist's derivative is S q̈ + Ṡ q̇;
- `steps()`: the same motion as rotations, translations and screws in sequence, for inverse kinematics;
- the configuration space of its coordinates: `neutral`, `integrate`, `difference`, `random`, `normalized`.

Coordinates are plain numbers with q̇ = v, except for the unit quaternions of `Spherical` and `Free`,
whose velocity is in the moved frame's own axes. Entries may be float, complex or traced.
"""

from __future__ import annotations

from .in_sequence import Planar as Planar
from .in_sequence import Universal as Universal
from .joint_type import QUATERNION_TOLERANCE as QUATERNION_TOLERANCE
from .joint_type import JointType as JointType
from .joint_type import unit_axis as unit_axis
from .single_axis import Continuous as Continuous
from .single_axis import Fixed as Fixed
from .single_axis import Helical as Helical
from .single_axis import Prismatic as Prismatic
from .single_axis import Revolute as Revolute
from .with_quaternion import Free as Free
from .with_quaternion import Spherical as Spherical
from .with_quaternion import turned_less as turned_less

JOINT_TYPES: dict[str, type[JointType]] = {
    joint.kind: joint
    for joint in (Revolute, Continuous, Prismatic, Fixed, Helical, Universal, Spherical, Planar, Free)
}
"""Joint types by name."""
