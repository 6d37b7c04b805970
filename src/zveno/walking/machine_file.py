"""Legged robots as one TOML file: model, feet, start, gait, ground and cylinders.

    robot = "dog.urdf"            # model file beside this one, or the name of a built-in robot; its base floats
    friction = 0.7                # optional, of the feet

    [[foot]]                      # two or more
    frame = "front_left_foot"
    sole = [[0, 0, 0]]            # optional: points that touch the ground, m in the frame's axes

    [start]                       # joint values of the standing machine, rad or m, or "40deg"; others are neutral
    front_left_knee = "-70deg"

    [gait]                        # "static" or "dynamic", and fields of StaticGait or DynamicGait
    type = "static"
    steps = 8

    [ground]                      # optional: "plane", "steps" or "tiles", and the fields of such a ground
    type = "tiles"
    height = 0.02
    rng = 1

    [supply]                      # optional: fields of HydraulicSupply
    pressure = 21e6

    [[cylinder]]                  # optional: a HydraulicCylinder for every driven joint, by its fields
    joint = "front_left_knee"
    area = 3e-4
    valve = {rated_flow = 5e-5}   # fields of ServoValve
    lever = {arm = 0.05}          # fields of ConstantLever, or of PivotLever: parent, child, retracted

Numbers are SI units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from os.path import relpath
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..geometry.grounds import Ground, GroundPlane, GroundSteps
from ..io.dh import toml_values
from ..io.files import MAX_TEXT_BYTES, read_text, write_text
from ..io.load import load_mechanism
from ..io.toml import Table, shown
from ..mechanism import Mechanism
from ..mechanism.base import with_base
from ..robot_functions import RobotFunctions
from ..robots import data_names
from ..simulation.hydraulics.drive import HydraulicDrive
from ..simulation.hydraulics.parts import ConstantLever, HydraulicCylinder, HydraulicSupply, PivotLever, ServoValve
from ._simulate_walk import COUNTED_ON, simulate_walk, standing_start
from .dynamic_gait import DynamicGait
from .feet import Foot, checked_feet
from .result import Walk
from .static_gait import StaticGait
from .terrain import checked_ground, uneven_ground

BUILT_IN = ("biped", "quadruped")


@dataclass(frozen=True)
class Tiles:
    """Tiles of random heights, as `uneven_ground` makes them; lengths in m."""

    height: float = 0.02
    tile: float = 0.3
    slope: float = 0.0
    length: float = 6.0
    width: float = 1.2
    rng: int = 0


GAITS = {"static": StaticGait, "dynamic": DynamicGait}
GROUNDS = {"plane": GroundPlane, "steps": GroundSteps, "tiles": Tiles}


@dataclass(frozen=True, eq=False)
class WalkingMachine:
    """Legged robot as one value: everything that `simulate_walk` needs.

    Attributes:
        model: path of a model file, or name of a built-in robot. Its base floats.
        feet: its feet, two or more.
        start: joint values of the standing machine by name, rad or m; other joints are neutral.
        gait: StaticGait or DynamicGait.
        ground: a ground of `simulate_walk`, or Tiles.
        friction: coefficient of the feet.
        drive: hydraulic cylinders, or None if torques act directly.
    """

    model: str
    feet: Sequence[Foot]
    start: Mapping[str, Any] = field(default_factory=dict)
    gait: StaticGait | DynamicGait = field(default_factory=StaticGait)
    ground: Ground | Tiles = field(default_factory=GroundPlane)
    friction: float = 0.7
    drive: HydraulicDrive | None = None

    @classmethod
    def read(cls, path: str | PathLike[str]) -> WalkingMachine:
        """Read a file and check it against its model. The format is described in `zveno.walking.machine_file`."""
        top = Table(toml_values(read_text(path, MAX_TEXT_BYTES), path), path, "")
        top.only("robot", "friction", "foot", "start", "gait", "ground", "supply", "cylinder")
        name, start = top.text("robot"), top.table("start")
        model = name if name in BUILT_IN or name in data_names() else str(Path(path).parent / name)
        machine = cls(
            model,
            [_foot(table) for table in top.tables("foot", "foot")],
            gait=_chosen(top.table("gait"), GAITS, "static"),
            ground=_chosen(top.table("ground"), GROUNDS, "plane"),
            friction=top.number("friction", 0.7),
            drive=_drive(top),
        )
        try:
            machine = replace(machine, start={joint: machine._value(start, joint) for joint in start.values})
            machine.check()
        except ZvenoError as error:
            raise error if error.file is not None else error.located(file=path) from error
        return machine

    def _value(self, start: Table, joint: str) -> float:
        is_prismatic = self.mechanism.joint(joint).type.sigma == 0
        return start.quantity(joint, "length" if is_prismatic else "angle")

    @cached_property
    def mechanism(self) -> Mechanism:
        """The model on a free base."""
        return floating(load_mechanism(self.model))

    @property
    def q(self) -> np.ndarray:
        """Configuration of the standing robot, (n_q,)."""
        return self.mechanism.pack(self.start)

    def check(self) -> None:
        """Raise an error if feet, joints of the start or joints of cylinders are not in the model."""
        checked_feet(self.mechanism, self.feet, 2)
        _ = self.q
        for joint in self.drive.cylinders if self.drive else ():
            self.mechanism.joint(joint)

    @property
    def facts(self) -> dict[str, Any]:
        """Feet, gait, ground and driven joints as texts."""
        return {
            "feet": [foot.frame for foot in self.feet],
            "gait": repr(self.gait),
            "ground": f"{self.ground!r}, friction {self.friction:g}",
            "cylinders": list(self.drive.cylinders) if self.drive else "none: torques act directly",
        }

    @property
    def terrain(self) -> Ground:
        """The ground, tiles as the field of heights that they make."""
        return uneven_ground(**asdict(self.ground)) if isinstance(self.ground, Tiles) else self.ground

    def standing(self) -> np.ndarray:
        """Return q (n_q,) on the ground where a walk begins; raise an error with the reason if it cannot stand."""
        robot = RobotFunctions(self.mechanism)
        feet = checked_feet(self.mechanism, self.feet, 2)
        return standing_start(robot, feet, checked_ground(self.terrain), self.q, COUNTED_ON * self.friction)

    def plot(self, ax: Any = None) -> Any:
        """Draw the machine as it stands where a walk begins, and the axes of its feet; return the figure."""
        from ..report.figure import robot_figure

        return robot_figure(self.mechanism, self.standing(), frames=[foot.frame for foot in self.feet], ax=ax)

    def walk(self, robot: RobotFunctions | None = None, **options: Any) -> Walk:
        """Simulate the walk.

        Args:
            robot: replaces the model, for example by one with a payload.
            options: further arguments of `simulate_walk`: sensors, pushes, duration, and others.
        """
        given = {"ground": self.terrain, "friction": self.friction, "drive": self.drive} | options
        robot = RobotFunctions(self.mechanism) if robot is None else robot
        return simulate_walk(robot, self.feet, robot.pack(self.start), self.gait, **given)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the file. A model file is named by its path from there, and is not copied."""
        if not isinstance(self.ground, tuple(GROUNDS.values())):
            raise ZvenoError(
                f"a {type(self.ground).__name__} is not written to a file of a walking machine",
                element="ground",
                remedy=f"Use {', '.join(kind.__name__ for kind in GROUNDS.values())}",
            )
        is_path = Path(self.model).exists()
        model = Path(relpath(self.model, Path(path).parent)).as_posix() if is_path else self.model
        lines = [f"robot = {json.dumps(model)}", f"friction = {self.friction!r}"]
        for foot in self.feet:
            lines += ["", "[[foot]]", f"frame = {json.dumps(foot.frame)}", f"sole = {_toml(foot.sole)}"]
        lines += ["", "[start]", *(f"{json.dumps(name)} = {float(x)!r}" for name, x in self.start.items())]
        for key, value, kinds in (("gait", self.gait, GAITS), ("ground", self.ground, GROUNDS)):
            type_name = next(name for name, kind in kinds.items() if isinstance(value, kind))
            lines += ["", f"[{key}]", f'type = "{type_name}"', *_lines(value)]
        if self.drive is not None:
            lines += ["", "[supply]", *_lines(self.drive.supply)]
            for joint, cylinder in self.drive.cylinders.items():
                lines += ["", "[[cylinder]]", f"joint = {json.dumps(joint)}", *_lines(cylinder)]
        write_text(path, "\n".join(lines) + "\n")


def floating(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism itself if its base is free, else the mechanism on a free base."""
    is_free = bool(mechanism.joints) and mechanism.joints[0].type.kind == "free"
    return mechanism if is_free else with_base(mechanism, "free")


def is_machine_file(path: str | PathLike[str]) -> bool:
    """Return True if a path is a TOML file with feet."""
    file = Path(path)
    if file.suffix.lower() != ".toml" or not file.is_file():
        return False
    return "foot" in toml_values(read_text(file, MAX_TEXT_BYTES), file)


def _foot(table: Table) -> Foot:
    table.only("frame", "sole")
    sole = table.values.get("sole", [[0.0, 0.0, 0.0]])
    if not isinstance(sole, list) or not sole:
        raise table.error(f"{shown(sole)} is not a list of points", "sole", "Give [[x, y, z], …] in metres")
    points = [Table({"sole": point}, table.file, table.element).numbers("sole", (3,)).tolist() for point in sole]
    return Foot(table.text("frame"), points)


def _chosen(table: Table, kinds: Mapping[str, type], default: str) -> Any:
    return _made(table, kinds[table.choice("type", kinds, default)], "type")


def _made(table: Table, kind: type, *beside: str, **parts: Any) -> Any:
    """Build a dataclass from a table of its fields; `beside` are other keys, `parts` are fields built before."""
    known = [part.name for part in fields(kind)]
    table.only(*known, *beside)
    for part in fields(kind):
        needed = part.default is MISSING and part.default_factory is MISSING
        if needed and part.name not in table:
            raise table.error(f"{part.name!r} is missing", None, f"Add {part.name} = …")
    values = {key: table.values[key] for key in known if key in table and key not in parts}
    for key, value in values.items():
        if isinstance(value, bool | Mapping):
            raise table.error(f"{shown(value)} is neither a number, a text nor a list", key)
        if isinstance(value, int | float):
            table.number(key)
    return kind(**values, **parts)


def _drive(top: Table) -> HydraulicDrive | None:
    tables = top.tables("cylinder", "cylinder")
    if not tables:
        if "supply" in top:
            raise top.error("a supply without cylinders", "supply", "Add a [[cylinder]] for every driven joint")
        return None
    cylinders = {}
    for table in tables:
        lever = table.table("lever")
        parts = {
            "valve": _made(table.table("valve"), ServoValve),
            "lever": _made(lever, PivotLever if "retracted" in lever else ConstantLever),
        }
        cylinders[table.text("joint")] = _made(table, HydraulicCylinder, "joint", **parts)
    return HydraulicDrive(cylinders, _made(top.table("supply"), HydraulicSupply))


def _lines(value: Any) -> list[str]:
    return [f"{key} = {_toml(x)}" for key, x in asdict(value).items() if x is not None]


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(x)}" for key, x in value.items() if x is not None) + "}"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Sequence | np.ndarray):
        return "[" + ", ".join(_toml(x) for x in value) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)
