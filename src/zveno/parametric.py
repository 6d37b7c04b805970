"""Functions of a robot with some of its constants as inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from .errors import ShapeError
from .function_methods import FunctionMethods
from .functions import shapes
from .mechanism.mechanism import Mechanism


class ParametricRobot(FunctionMethods):
    """A robot whose functions need some constants in every call: `p.inverse_dynamics(q, v, a, gravity=g)`.

    Attributes:
        robot: whose other constants hold.
        parameters: names of the constants that every call must give.
    """

    robot: FunctionMethods
    parameters: tuple[str, ...]

    def __init__(self, robot: FunctionMethods, parameters: Sequence[str]):
        self.robot, self.parameters = robot, tuple(parameters)
        self.mechanism: Mechanism = robot.mechanism

    def _run(
        self, key: tuple, arrays: tuple, out: Any, constants: Mapping[str, Any], external: ArrayLike | None = None
    ) -> Any:
        if constants.keys() != set(self.parameters):
            missing = [name for name in self.parameters if name not in constants]
            unknown = [name for name in constants if name not in self.parameters]
            expected = shapes(self.mechanism, self.parameters)
            raise ShapeError(
                f"parameters {', '.join(missing or unknown)} {'missing' if missing else 'not expected'}",
                element=key[0],
                remedy="Give " + (", ".join(f"{name} {shape}" for name, shape in expected.items()) or "none"),
            )
        return self.robot._run(key, arrays, out, {name: constants[name] for name in self.parameters}, external)

    def __repr__(self) -> str:
        inputs = ", ".join(self.parameters) or "nothing"
        return f"<ParametricRobot {self.mechanism.name}: {inputs} as inputs>"
