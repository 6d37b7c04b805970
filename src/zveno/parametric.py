"""Functions of a robot with some of its constants as inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from .algorithms.references import checked_reference
from .errors import ShapeError
from .functions import shapes
from .mechanism import Mechanism


class Compiled(Protocol):
    """What has kernels: a robot."""

    @property
    def name(self) -> str:
        """Of the robot."""
        ...

    mechanism: Mechanism
    kernel: Callable[..., Any]


class ParametricRobot:
    """A robot's functions with some constants as inputs: `p.inverse_dynamics(q, v, a, gravity=g)`."""

    def __init__(self, robot: Compiled, parameters: Sequence[str]):
        self.robot, self.parameters = robot, tuple(parameters)

    def call(self, name: str, *arrays, out=None, values: Mapping[str, Any], **options):
        """Any function by name, its own inputs by position and the parameters in `values`."""
        missing = [key for key in self.parameters if key not in values]
        unknown = [key for key in values if key not in self.parameters]
        if missing or unknown:
            expected = shapes(self.robot.mechanism, self.parameters)
            wanted = ", ".join(f"{key} {shape}" for key, shape in expected.items())
            raise ShapeError(
                f"parameters {', '.join(missing or unknown)} {'missing' if missing else 'not expected'}",
                element=name,
                remedy=f"Give {wanted}",
            )
        kernel = self.robot.kernel(name, self.parameters, **options)
        return kernel(*arrays, *(values[key] for key in self.parameters), out=out)

    def forward_kinematics(self, q, frame: str | None = None, out=None, **values):
        """Pose of a frame, (..., 4, 4)."""
        return self.call("forward_kinematics", q, frame=frame, out=out, values=values)

    def jacobian(self, q, frame: str | None = None, reference: str = "aligned", out=None, **values):
        """Jacobian of a frame, (..., 6, n_v)."""
        checked_reference(reference)
        return self.call("jacobian", q, frame=frame, reference=reference, out=out, values=values)

    def inverse_dynamics(self, q, v, a, out=None, **values):
        """Joint torques, (..., n_v)."""
        return self.call("inverse_dynamics", q, v, a, out=out, values=values)

    def forward_dynamics(self, q, v, tau, out=None, **values):
        """Accelerations, (..., n_v)."""
        return self.call("forward_dynamics", q, v, tau, out=out, values=values)

    def mass_matrix(self, q, out=None, **values):
        """Mass matrix, (..., n_v, n_v)."""
        return self.call("mass_matrix", q, out=out, values=values)

    def gravity_torque(self, q, out=None, **values):
        """Torques that hold the robot at rest, (..., n_v)."""
        return self.call("gravity_torque", q, out=out, values=values)

    def center_of_mass(self, q, out=None, **values):
        """Centre of mass, (..., 3)."""
        return self.call("center_of_mass", q, out=out, values=values)

    def __repr__(self):
        return f"<ParametricRobot {self.robot.name}: {', '.join(self.parameters) or 'nothing'} as inputs>"
