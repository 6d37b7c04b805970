"""Flags shared by verbs, so that they have the same names and meaning everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from ..errors import ZvenoError


def shown(metavar: str | None = None) -> Any:
    """How a value is called in the help; that nothing is the default need not be said beside each."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


def several(kind: Callable[[str], Any] = str, count: int | None = None) -> Any:
    """How words become a tuple of any length, or of `count`.

    The parser compares defaults with `tuple[str, ...]`, and with `X | None`, by a package that takes 0.1 s to
    import; with `tuple` and `Optional[X]` it does not.
    """
    return PrimitiveConstructorSpec(
        nargs="*" if count is None else count,
        metavar="WORD",
        instance_from_str=lambda words: tuple(kind(word) for word in words),
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: [str(item) for item in value or ()],
    )


READ = "a file that is read"
"""Marks arguments for which `-` is the standard input."""
_ROBOT = (
    "a built-in (see `zveno robots`), a .urdf, .xml, .toml or .ets file, elementary transforms, or - for stdin."
)
RobotName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT", help=_ROBOT), READ]
Coordinates = Annotated[tuple, tyro.conf.Positional, shown("[Q ...]"), several()]
"""Joint values as words, see `configuration.parsed_q`."""
Quantities = Annotated[tuple, shown("X ..."), several()]
"""Numbers in order, with units if need be, or name=value pairs."""
Numbers = Annotated[tuple, shown("X ..."), several(float)]
Number = Annotated[Optional[float], shown("X")]
Count = Annotated[Optional[int], shown("N")]
Vector = Annotated[Optional[tuple], shown("X Y Z"), several(float, 3)]
Box = Annotated[Optional[tuple], shown("X Y Z X Y Z"), several(float, 6)]
Words = Annotated[tuple, shown("NAME ..."), several()]
Name = Annotated[Optional[str], shown("NAME")]
Flag = Annotated[bool, shown()]
File = Annotated[Optional[Path], shown("FILE")]
Source = Annotated[Optional[Path], shown("FILE"), READ]
Directory = Annotated[Optional[Path], shown("DIR")]


@dataclass(frozen=True)
class Output:
    """Where the answer goes."""

    json: Flag = False
    """Print JSON instead of text; always SI units and radians."""
    out: File = None
    """Write the answer to a file instead of printing it; as JSON if it ends in .json."""
    report: File = None
    """Write one offline .html page: the verdict, plots, tables and the robot (where a verb has such a result)."""
    force: Flag = False
    """Replace existing files, also those that zveno did not write."""
    quiet: Flag = False
    """Nothing on stderr but errors: no warnings, no progress, no names of files that were written."""
    verbose: Flag = False
    """Also say what was changed while the robot was read, and the time taken."""
    debug: Flag = False
    """Show the full traceback of an error."""


@dataclass(frozen=True)
class Model:
    """The robot: its frame, tool, load, gravity and base; how it is read and angles are given."""

    frame: Name = None
    """The frame meant, or that --tool is mounted on; by default the one named tool, or the only end link's."""
    tool: Quantities = ()
    """Mount a tool, which then is the frame meant: x y z, x y z roll pitch yaw, or "Tz(0.1) Ry(90deg)"."""
    payload: Quantities = ()
    """A load at the frame meant: kg; then the centre of mass x y z; then Ixx Ixy Iyy Ixz Iyz Izz about it."""
    gravity: Vector = None
    """Acceleration of free fall in world axes, m/s²; 0 0 0 for none."""
    base: Annotated[Literal["own", "fixed", "free", "trunk"], shown()] = "own"
    """Stand on the ground, float freely, or on the six joints of document 003; else as the model has it."""
    deg: Flag = False
    """Angles are in degrees, those given and those printed."""
    snap: Flag = False
    """Make angles exact that are within 1e-4 rad of a multiple of 15 degrees, such as 1.5708."""
    no_snap: Flag = False
    """Keep all angles as written; without it, tables typed by hand are snapped within 1e-5 rad."""

    @property
    def meant(self) -> str | None:
        """The name of the frame that a verb is about; None is the robot's default frame."""
        return "tool" if self.tool else self.frame

    @property
    def snapping(self) -> bool | None:
        """The `snap` argument of readers: None leaves it to the format."""
        if self.snap and self.no_snap:
            raise ZvenoError("--snap and --no-snap exclude each other", remedy="Give one of them")
        return True if self.snap else (False if self.no_snap else None)


@dataclass(frozen=True)
class Picture:
    """What is drawn."""

    plot: File = None
    """Draw the robot into a .png or .svg file."""


@dataclass(frozen=True)
class Workers:
    """Who computes what can be shared."""

    workers: Count = None
    """Processes of this machine that share the work."""
    on: Name = None
    """Workers elsewhere: tcp://host:8786, the address of a Dask scheduler; or here, threads."""
    checkpoint: File = None
    """A file that keeps what is done; the same command goes on from there."""

    @property
    def place(self) -> int | str | None:
        """The `on` argument of functions."""
        if self.workers is not None and self.on is not None:
            raise ZvenoError("--workers and --on exclude each other", remedy="Give one of them")
        return self.on if self.workers is None else self.workers


_NO_PREFIX = tyro.conf.arg(name="")  # --json, not --output.json
OutputFlags = Annotated[Output, _NO_PREFIX]
ModelFlags = Annotated[Model, _NO_PREFIX]
PictureFlags = Annotated[Picture, _NO_PREFIX]
WorkersFlags = Annotated[Workers, _NO_PREFIX]
OUTPUT, MODEL, PICTURE, WORKERS = Output(), Model(), Picture(), Workers()
"""What the flags are when none is given."""


def pairs(words: Sequence[str], flag: str, example: str) -> dict[str, str]:
    """What KEY=VALUE words of a flag say."""
    said = {}
    for word in words:
        key, _, value = (part.strip() for part in word.partition("="))
        if not key or not value:
            raise ZvenoError(f"{word!r} is not a pair", element=flag, remedy=f"Write KEY=VALUE, such as {example}")
        said[key] = value
    return said
