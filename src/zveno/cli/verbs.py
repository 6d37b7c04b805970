"""Commands `info`, `fk`, `robots` and `cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import given, loaded
from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    Coordinates,
    Flag,
    ModelFlags,
    OutputFlags,
    Picture,
    PictureFlags,
    RobotName,
)
from .output import Answer, deliver, protect, say_written

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def info(
    robot: RobotName,
    q: Coordinates = (),
    /,
    *,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Describe a robot: joints and links, limits, masses, frames, drives, notes.

    Example: `zveno info ur5 --deg`.

    A file of a walking machine is checked; --plot draws it as it stands.

    Args:
        q: joint values for --plot: numbers in order, or name=value pairs; neutral by default.
    """
    from ..report.mechanism import default_frame_name, print_info, summary

    protect(output, [robot], plot=picture.plot)
    plan = None
    if robot.endswith(".toml"):
        from .walk import machine_of

        plan, machine = machine_of(robot, model)
        mechanism = machine.mechanism
    else:
        mechanism = loaded(robot, model)
    facts = summary(mechanism)
    if mechanism.loops:
        facts["mobility"] = _mobility(mechanism)
    q_drawn = given(mechanism, q, model)
    if plan is not None:
        facts["walking_machine"] = plan.facts
        if picture.plot is not None and not q:
            q_drawn = plan.standing()
    frame = model.meant or default_frame_name(mechanism)
    if frame is not None:
        mechanism.frame(frame)
    _draw(mechanism, q_drawn, picture, [] if frame is None else [frame])

    def show(console):
        print_info(console, mechanism, facts, model.deg)
        for name, value in facts.get("walking_machine", {}).items():
            console.print(f"{name:13}  {value if isinstance(value, str) else ', '.join(value)}", markup=False)

    deliver(Answer(lambda: facts, show), output)


def _mobility(mechanism: Mechanism) -> dict[str, object]:
    """Mobility of a mechanism with closed loops, as plain data."""
    from ..loops import mobility
    from ..robot import Robot

    result = mobility(Robot(mechanism))
    text = result.summary.removeprefix(f"{mechanism.name}: ")
    for title, names in (("idle", result.idle), ("redundant", result.redundant_rows)):
        text += f"; {title}: {', '.join(names)}" if names else ""
    return {
        "status": result.status,
        "reason": result.reason,
        "mobility": result.mobility,
        "driven": list(result.driven),
        "idle": list(result.idle),
        "dependent": list(result.dependent),
        "redundant_rows": list(result.redundant_rows),
        "q": result.q.tolist(),
        "text": text,
    }


def fk(
    robot: RobotName,
    q: Coordinates = (),
    /,
    *,
    all: Flag = False,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Compute forward kinematics: the pose of a frame at given joint values.

    Examples: `zveno fk ur5 0 -90 90 0 0 0 --deg` and
    `zveno fk robot.urdf elbow=pi/2 --frame tool0`.

    Args:
        q: numbers in the order of `zveno info`, or name=value pairs with the others at neutral.
        all: also print the poses of all links.
    """
    from rich.console import Console

    from ..algorithms.forward_kinematics import frame_pose, link_poses
    from ..report.mechanism import link_table, pose_data, pose_table

    protect(output, [robot], plot=picture.plot)
    mechanism = loaded(robot, model)
    q_given = given(mechanism, q, model)
    target = mechanism.frame(model.meant)
    pose = pose_data(frame_pose(mechanism, q_given, target.name))
    data = {"robot": mechanism.name, "frame": target.name, "link": target.link}
    data |= {"q": dict(zip(mechanism.coordinate_names, q_given.tolist(), strict=True))} | pose
    links = {}
    if all:
        poses = link_poses(mechanism, q_given)
        links = {name: pose_data(T) for name, T in zip(mechanism.link_names, poses, strict=True)}
        data["links"] = links

    def show(console: Console):
        console.print(f"{mechanism.name}: frame {target.name} in the world", style="bold", end="\n\n")
        console.print(pose_table(pose, "T_world_" + target.name, model.deg))
        if links:
            console.print()
            console.print(link_table(links))

    _draw(mechanism, q_given, picture, [target.name])
    deliver(Answer(lambda: data, show), output)


def robots(*, output: OutputFlags = OUTPUT) -> None:
    """List the built-in robots, with the sources of their parameters."""
    from ..io.load import load_mechanism
    from ..report.mechanism import catalogue, print_catalogue
    from ..robots import names

    protect(output, [])
    entries = catalogue({name: load_mechanism(name) for name in names()})
    deliver(Answer(lambda: {"robots": entries}, lambda console: print_catalogue(console, entries)), output)


def cache(*, clear: Flag = False, output: OutputFlags = OUTPUT) -> None:
    """Show the cache of compiled functions: location and size.

    Example: `zveno cache --clear`.

    Args:
        clear: empty the cache.
    """
    from rich.console import Console

    from ..kernels import cache as kernels_cache

    protect(output, [])
    removed = kernels_cache.clear() if clear else None
    state = kernels_cache.info()
    data = {
        "directory": str(state.directory),
        "entries": state.entries,
        "bytes": state.size,
        "limit_bytes": state.limit,
        "removed": removed,
    }

    def show(console: Console):
        if removed is not None:
            console.print(f"removed    {removed} kernels")
        console.print(f"directory  {state.directory}", soft_wrap=True)
        console.print(f"entries    {state.entries}")
        console.print(f"size       {state.size / 2**20:.1f} MB of at most {state.limit / 2**20:.0f} MB")

    deliver(Answer(lambda: data, show), output)


def _draw(mechanism, q, picture: Picture, frames: list[str]):
    if picture.plot is not None:
        from ..report.figure import robot_figure, save

        say_written(save(robot_figure(mechanism, q, frames=frames), picture.plot))
