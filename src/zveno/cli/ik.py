"""The verb `ik`: all configurations that reach a pose, many poses, or a path."""

from __future__ import annotations

from typing import Annotated, Optional

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    WORKERS,
    Count,
    Directory,
    Flag,
    ModelFlags,
    Name,
    Number,
    OutputFlags,
    PictureFlags,
    Quantities,
    RobotName,
    Source,
    Words,
    WorkersFlags,
    several,
    shown,
)
from .output import UNUSABLE, Answer, deliver, protect, say_written, write_report


def ik(
    robot: RobotName,
    /,
    *,
    pose: Quantities = (),
    at: Quantities = (),
    poses: Source = None,
    path: Source = None,
    start: Quantities = (),
    nearest: Quantities = (),
    relative_to: Name = None,
    position_only: Flag = False,
    task: str = "pose",
    no_limits: Flag = False,
    windings: Flag = False,
    method: str = "auto",
    slices: Count = None,
    redundant: Words = (),
    objective: str = "squares",
    tolerance: Annotated[Optional[tuple], shown("M RAD"), several(float, 2)] = None,
    percent: Number = None,
    explain: Flag = False,
    directory: Directory = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Inverse kinematics: all configurations with the tool at a pose, within limits.

    `--out x.csv` (or .npz) takes the solutions, one a line.

    Args:
        pose: x y z; x y z roll pitch yaw; x y z qw qx qy qz; 12 or 16 numbers of the matrix, row by row; or
            elementary transforms, such as "Tx(0.4) Tz(0.3) Ry(90deg)".
        at: joint values instead: the pose of the tool there is solved for.
        poses: a file with one pose a line (or .npy, .npz): all are solved.
        path: such a file as a path: branches are followed and the best continuous sequence is chosen.
        start: joint values that the path begins near, or that --method local starts from.
        nearest: only the solution nearest to these joint values.
        relative_to: the frame in which poses are given; the world by default.
        position_only: reach the point, whatever the orientation.
        task: pose, position, position+axis or rotation.
        no_limits: ignore the joint limits.
        windings: also solutions that differ by whole turns, where limits allow.
        method: auto, scan, closed_form, six_revolute, local, or certified: all with a proof.
        slices: for redundant robots, values of the redundant joint, or points of a grid over several.
        redundant: names of those joints; the ones that move most in self-motions by default.
        objective: what the nearest configuration makes least where nothing reaches: squares, norm or absolute.
        tolerance: metres and radians by which the nearest configuration may miss and still count.
        percent: the same in percent of distances, as document 004 has it.
        explain: also say how the solver goes about it; --plot then draws, for the first pose, the polynomial whose
            zeros are all solutions, or the residual against the number of the scan's grid.
        directory: write all solutions of --poses there, one NPY file a piece, for any number of poses.
    """
    import numpy as np

    from ..errors import ZvenoError
    from ..ik.choose import only_nearest
    from ..ik.ik_problem import problem_of
    from ..ik.paths import solve_path
    from ..report.text.ik import path_data, print_path, print_solutions, solutions_data, write_solutions
    from ..robot import Robot
    from .model import given, loaded

    protect(output, [robot, poses, path], [picture.plot], reports=True)
    mechanism = loaded(robot, model)
    arm = Robot(mechanism)
    options = {
        "frame": model.meant,
        "relative_to": relative_to,
        "limits": not no_limits,
        "task": "position" if position_only else task,
    }
    if directory is not None:
        _write_map(arm, poses, directory, options | {"method": method, "slices": slices}, workers, picture, output)
        return
    T = _target(arm, pose, at, poses, path, relative_to, model.meant, model)
    first_q = given(mechanism, start or nearest, model) if start or (nearest and path is not None) else None
    if poses is None and (workers.place is not None or workers.checkpoint is not None):
        raise ZvenoError("there is nothing to share", element="--workers", remedy="Give many poses: --poses")
    if path is not None:
        result = solve_path(
            arm, T, start=first_q, method=method, **({"slices": slices} if slices else {}), **options
        )
        if picture.plot is not None:
            say_written(result.plot(picture.plot, degrees=model.deg))
        answer = Answer(lambda: path_data(result), lambda console: print_path(console, result, model.deg))
    else:
        ways = {"redundant": redundant or None, "objective": objective, "tolerance": tolerance}
        ways |= {"percent": percent, "start": first_q}
        result = _solved(arm, T, method, windings, slices, options | ways, workers)
        if nearest:
            result = only_nearest(result, given(mechanism, nearest, model), mechanism)
        lines, curve = [], None
        if explain:
            problem = problem_of(arm, **options)
            first = _first(problem, T)
            curve = _curve(problem, first, method)
            lines = ["", _explained(problem, method, slices, curve)]

        def show(console):
            print_solutions(console, result, model.deg)
            for line in lines:
                console.print(line)

        answer = Answer(lambda: solutions_data(result) | ({"explanation": lines[1]} if lines else {}), show)
        if picture.plot is not None and not explain:
            say_written(result.plot(picture.plot))
        elif picture.plot is not None and curve is not None:
            from ..report.pictures.ik_zeros import draw_zeros

            say_written(draw_zeros(curve, picture.plot, robot=mechanism.name, degrees=model.deg))
        elif picture.plot is not None:
            from ..report.pictures.numbers import draw_scan

            say_written(draw_scan(problem, first, result.of(0) if result.batch else result.of(), picture.plot))
    write_report(result, output)
    if output.out is not None and output.out.suffix.lower() in (".csv", ".npz"):
        say_written(write_solutions(result, output.out, model.deg))
    else:
        deliver(answer, output)
    if np.isnan(result.q).all():
        raise SystemExit(UNUSABLE)


def _write_map(arm, poses, directory, options, workers, picture, output) -> None:
    """All solutions of a file of poses as files; an .npy file is read by the workers, part by part."""
    from ..errors import ZvenoError
    from ..ik.maps.ik_map import ik_map
    from ..ik.paths.pose_files import read_poses
    from ..report.text.maps import ik_map_data, print_ik_map

    if poses is None:
        raise ZvenoError("is for many poses", element="--directory", remedy="Give a file of them: --poses")
    source = poses if poses.suffix.lower() == ".npy" else read_poses(poses, False)
    result = ik_map(arm, source, directory, **options, on=workers.place, checkpoint=workers.checkpoint)
    if picture.plot is not None:
        say_written(result.plot(picture.plot))
    write_report(result, output)
    deliver(Answer(lambda: ik_map_data(result), lambda console: print_ik_map(console, result)), output)


def _first(problem, T):
    """The first pose as it was solved; what had to be repaired in it has been told already."""
    import warnings

    from ..ik.targets import checked_targets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return checked_targets(problem, T if isinstance(T, str) else T.reshape(-1, *T.shape[-2:])[:1])[0][0]


def _curve(problem, T, method: str):
    """The function of one angle whose zeros are the solutions, where there is one and it is not declined."""
    from ..ik.six_revolute import solver
    from ..ik.six_revolute.route import curve

    wanted = method in ("auto", "closed_form", "six_revolute") and not problem.redundancy
    return curve(problem, T) if wanted and solver.applies(problem) else None


def _explained(problem, method: str, slices: int | None, curve) -> str:
    """The route, the template and what they give at one pose."""
    from ..ik import six_revolute
    from ..ik.redundant import seven_revolute
    from ..ik.redundant.sliced_joint import sliced_joint
    from ..ik.solve import solver_for

    if method == "certified":
        return (
            "All solutions with a proof in ball arithmetic: elimination whose ranks are not assumed, every root of "
            "its determinant on the circle, back-substitution that refutes spurious ones, Krawczyk's test for each."
        )
    if method == "local":
        return "One solution by damped Newton iterations from --start, or from random starts; nothing is proved."
    if problem.redundancy == 1 and method == "auto":
        coordinate, usual = sliced_joint(problem)
        if seven_revolute.applies(problem, coordinate):
            how = seven_revolute.explain(problem, coordinate, slices or usual)
            return how if slices else f"Every self-motion is followed from slice to slice, to its ends. {how}"
    if problem.redundancy:
        return f"Redundant by {problem.redundancy}: slices of one joint, or a sample, each solved by scanning."
    solver = solver_for(problem, method)
    text = solver.explain(problem)
    if curve is not None:
        if solver.name != six_revolute.solver.name:
            text += "\nThe general method finds the same. " + six_revolute.solver.explain(problem)
        text += "\n" + curve.explain()
    return text


def _target(arm, pose, at, poses, path, relative_to, frame, model):
    """The pose or poses asked for, in whichever way."""
    from ..errors import ZvenoError
    from ..ik.paths.pose_files import FORMS, read_poses
    from ..io.elementary import is_elementary_text
    from ..spatial.transforms import inverse
    from .configuration import parsed_q
    from .model import pose_of_words

    if sum(bool(way) for way in (pose, at, poses, path)) != 1:
        raise ZvenoError(
            "one pose, file or path must be given", remedy=f"--pose {FORMS}; --at q; --poses or --path FILE"
        )
    if pose and is_elementary_text(" ".join(pose)):
        return " ".join(pose)
    if pose:
        return pose_of_words(pose, "pose", model.deg)
    if at:
        q = parsed_q(arm.mechanism, at, model.deg)
        T = arm.forward_kinematics(q, frame=frame)
        return T if relative_to is None else inverse(arm.forward_kinematics(q, frame=relative_to)) @ T
    return read_poses(poses or path, model.deg)


def _solved(arm, T, method, windings, slices, options, workers):
    """All solutions; of many poses in pieces, with a progress bar on a terminal."""
    from ..ik import solve_ik

    place = workers.place
    if place is None and not isinstance(T, str) and T.ndim > 2:
        place = "here"
    shared = {} if place is None else {"on": place, "checkpoint": workers.checkpoint}
    return solve_ik(arm, T, method=method, windings=windings, slices=slices, **options, **shared)
