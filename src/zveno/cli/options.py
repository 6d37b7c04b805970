"""Common flags, with the same names and meaning in all commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from ..errors import ZvenoError


def shown(metavar: str | None = None) -> Any:
    """Set the name of a value in the help, and hide an empty default."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


def several(kind: Callable[[str], Any] = str, count: int | None = None) -> Any:
    """Parser of a tuple of any length, or of `count` values.

    The parser compares defaults with `tuple[str, ...]`, and with `X | None`, by a package that takes 0.1 s to
    import; with `tuple` and `Optional[X]` it does not.
    """

    def parse(words: list[str]) -> tuple[Any, ...]:
        if not words:  # an option without values would be the same as none
            raise ValueError("it needs a value")
        return tuple(kind(word) for word in words)

    return PrimitiveConstructorSpec(
        nargs="*" if count is None else count,
        metavar="WORD",
        instance_from_str=parse,
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: [str(item) for item in value or ()],
    )


if TYPE_CHECKING:
    Tuple = tuple[Any, ...]
else:
    Tuple = tuple  # see `several`

READ = "a file that is read"
"""Mark of arguments for which `-` is the standard input."""
_ROBOT = (
    "a built-in (see `zveno robots`), a .urdf, .xml, .toml or .ets file, elementary transforms, or - for stdin."
)
RobotName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT", help=_ROBOT), READ]
Coordinates = Annotated[Tuple, tyro.conf.Positional, shown("[Q ...]"), several()]
"""Joint values as words, see `configuration.parsed_q`."""
Quantities = Annotated[Tuple, shown("X ..."), several()]
"""Numbers in order, with units if need be, or name=value pairs."""
Numbers = Annotated[Tuple, shown("X ..."), several(float)]
Number = Annotated[Optional[float], shown("X")]
Count = Annotated[Optional[int], shown("N")]
Vector = Annotated[Optional[Tuple], shown("X Y Z"), several(float, 3)]
Box = Annotated[Optional[Tuple], shown("X Y Z X Y Z"), several(float, 6)]
Words = Annotated[Tuple, shown("NAME ..."), several()]
Name = Annotated[Optional[str], shown("NAME")]
Flag = Annotated[bool, shown()]
File = Annotated[Optional[Path], shown("FILE")]
Source = Annotated[Optional[Path], shown("FILE"), READ]
Directory = Annotated[Optional[Path], shown("DIR")]


@dataclass(frozen=True)
class Output:
    """Output flags."""

    json: Flag = False
    """Print JSON instead of text; always SI units and radians."""
    out: File = None
    """Write the answer to a file instead of printing it; as JSON if it ends in .json."""
    report: File = None
    """Write one offline .html page with conclusion, plots, tables and the robot (for commands with a report)."""
    overwrite: Flag = False
    """Overwrite existing files, including files that zveno did not write."""
    quiet: Flag = False
    """Print only errors on stderr: no warnings, no progress, no names of written files."""
    verbose: Flag = False
    """Also print changes made while reading the robot, and the CPU time."""
    debug: Flag = False
    """Show the full traceback of an error."""


@dataclass(frozen=True)
class Model:
    """Robot flags: frame, tool, payload, gravity and base, reading options and the unit of angles."""

    frame: Name = None
    """Frame to use, or to mount --tool on; by default `tool`, the only end link, or `tool0`."""
    tool: Quantities = ()
    """Mount a tool and use its frame: x y z, x y z roll pitch yaw, or "Tz(0.1) Ry(90deg)"."""
    payload: Quantities = ()
    """Payload at the frame: mass in kg, then centre of mass x y z, then Ixx Ixy Iyy Ixz Iyz Izz about it."""
    gravity: Vector = None
    """Acceleration of free fall in world axes, m/s²; 0 0 0 for none."""
    base: Annotated[Literal["own", "fixed", "free", "trunk"], shown()] = "own"
    """Base: that of the model, fixed to the ground, free, or on the six trunk joints of document 003."""
    deg: Flag = False
    """Use degrees for given and printed angles."""
    snap: Flag = False
    """Snap angles within 1e-4 rad of a multiple of 15 degrees, such as 1.5708."""
    no_snap: Flag = False
    """Keep all angles as written; by default, hand-typed tables are snapped within 1e-5 rad."""

    @property
    def meant(self) -> str | None:
        """Name of the frame to use; None is the robot's default frame."""
        return "tool" if self.tool else self.frame

    @property
    def snapping(self) -> bool | None:
        """Argument `snap` of readers; None selects the default of the format."""
        if self.snap and self.no_snap:
            raise ZvenoError("--snap and --no-snap exclude each other", remedy="Give one of them")
        return True if self.snap else (False if self.no_snap else None)


@dataclass(frozen=True)
class Held:
    """Flags of constraints that hold frames."""

    ball_joint: Words = ()
    """Frames whose origin is held in place, or FRAME=OTHER: on the origin of another frame."""
    weld: Words = ()
    """Frames held in their pose, or FRAME=OTHER: in the pose of another frame."""


@dataclass(frozen=True)
class Picture:
    """Plot flag."""

    plot: File = None
    """Draw the robot into a .png or .svg file."""


@dataclass(frozen=True)
class Workers:
    """Parallelism flag."""

    workers: Count = None
    """Number of processes that share the work."""

    @contextmanager
    def executor(self) -> Iterator[Any]:
        """Argument `executor` of functions: a pool of processes, or None for a single process."""
        if self.workers is None:
            yield None
            return
        from .processes import process_pool

        with process_pool(self.workers) as pool:
            yield pool


@dataclass(frozen=True)
class Recording:
    """Flags about the columns of recordings."""

    columns: Words = ()
    """Meaning of columns with other names, as ROLE=NAME: time=t_msg position=q_* torque=a,b,c velocity=none
    topic=/joint_states; * stands for the joint or its number."""
    units: Words = ()
    """Units of roles without a unit in their names: position=deg time=ms torque=mNm."""
    gains: Numbers = ()
    """Torque per recorded unit, a scalar or one per joint: N*m/A for currents."""
    offsets: Numbers = ()
    """Offsets added to joint positions, a scalar or one per joint (--deg for degrees)."""
    side: Annotated[Literal["joint", "motor"], shown()] = "joint"
    """Motor, if positions and torques of motors were recorded."""
    gears: Numbers = ()
    """Gear ratio, motor turns per joint turn, a scalar or one per joint, for --side motor if the model has no
    transmission."""
    rate: Number = None
    """Sampling rate, Hz, if there is no time column."""

    def reading(self, degrees: bool) -> dict[str, Any]:
        """Arguments of `read_log`."""
        turned = math.pi / 180.0 if degrees else 1.0
        return {
            "columns": pairs(self.columns, "columns", "position=q_*"),
            "units": {role: _unit(word) for role, word in pairs(self.units, "units", "position=deg").items()},
            "gains": _scalar_or_several(self.gains),
            "offsets": _scalar_or_several(tuple(turned * offset for offset in self.offsets)),
            "side": self.side,
            "gears": _scalar_or_several(self.gears),
            "rate": self.rate,
        }


def _unit(word: str) -> str | float | tuple[str, ...]:
    """Parse a unit: a name, several names (deg,mm), or a factor."""
    try:
        return float(word)
    except ValueError:
        return tuple(word.split(",")) if "," in word else word


def friction_of(words: Sequence[str], usual: str) -> str | Sequence[str]:
    """Return the name of a friction model, or the terms that were given; without words, the usual model."""
    single = len(words) == 1 and words[0] in ("auto", "default", "basic", "none")
    return words[0] if single else words or usual


def _scalar_or_several(values: tuple[float, ...]) -> float | tuple[float, ...] | None:
    if not values:
        return None
    return values[0] if len(values) == 1 else values


_NO_PREFIX = tyro.conf.arg(name="")  # --json, not --output.json
OutputFlags = Annotated[Output, _NO_PREFIX]
ModelFlags = Annotated[Model, _NO_PREFIX]
HeldFlags = Annotated[Held, _NO_PREFIX]
PictureFlags = Annotated[Picture, _NO_PREFIX]
WorkersFlags = Annotated[Workers, _NO_PREFIX]
RecordingFlags = Annotated[Recording, _NO_PREFIX]
OUTPUT, MODEL, HELD, PICTURE = Output(), Model(), Held(), Picture()
WORKERS, RECORDING = Workers(), Recording()
"""Default values of the flags."""


def pairs(words: Sequence[str], flag: str, example: str) -> dict[str, str]:
    """Parse the KEY=VALUE arguments of a flag."""
    said = {}
    for word in words:
        key, _, value = (part.strip() for part in word.partition("="))
        if not key or not value:
            raise ZvenoError(f"{word!r} is not a pair", element=flag, remedy=f"Write KEY=VALUE, such as {example}")
        if key in said:
            raise ZvenoError(f"{key} is given twice", element=flag, remedy="Give every key once")
        said[key] = value
    return said


def unused(flags: Mapping[str, Any], needs: str) -> None:
    """Raise an error if one of the flags was given although the command would ignore it.

    Args:
        flags: values of flags by name; None, False or () if a flag was not given.
        needs: what makes them apply.
    """
    for name, value in flags.items():
        if value is not None and value is not False and value != ():
            raise ZvenoError("would be ignored", element=f"--{name}", remedy=f"Leave it out, or {needs}")
