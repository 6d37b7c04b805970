"""Command `ik`: all configurations that reach a pose, many poses, or a path."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    WORKERS,
    Count,
    Flag,
    ModelFlags,
    Name,
    OutputFlags,
    PictureFlags,
    Quantities,
    RobotName,
    Source,
    Words,
    WorkersFlags,
    several,
    shown,
    unused,
)
from .output import UNUSABLE, Answer, answer_of, deliver, protect, say_written, write_plot, write_report


def ik(
    robot: RobotName,
    /,
    *,
    pose: Quantities = (),
    at: Quantities = (),
    poses: Source = None,
    path: Source = None,
    rotation: Literal["rpy", "rotvec"] = "rpy",
    q0: Quantities = (),
    nearest: Quantities = (),
    relative_to: Name = None,
    position_only: Flag = False,
    task: Name = None,
    no_limits: Flag = False,
    limits: Words = (),
    windings: Flag = False,
    method: str = "auto",
    samples: Count = None,
    redundant_joint: Optional[str] = None,
    tolerance: Annotated[Optional[tuple], shown("M ANGLE"), several(float, 2)] = None,
    explain: Flag = False,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Solve inverse kinematics: all configurations at a pose, within limits.

    `--out x.csv` (or .npz) saves the solutions, one per line.

    Examples: `zveno ik ur5 --pose 0.4 0.2 0.3 180 0 90 --deg` and
    `zveno ik ur5 --poses poses.csv --out solutions.csv`.

    Args:
        pose: x y z; x y z roll pitch yaw; x y z qw qx qy qz; 12 or 16 numbers of the matrix, row by row; or
            elementary transforms, such as "Tx(0.4) Tz(0.3) Ry(90deg)".
        at: joint values whose tool pose is the target.
        poses: file with one pose per line (or .npy, .npz), all to be solved.
        path: file of poses that form a path; the best continuous sequence is chosen.
        rotation: meaning of the last three of six numbers: roll pitch yaw, or a rotation vector as on UR pendants.
        q0: joint values near the start of the path, or initial values for --method local.
        nearest: return only the solution nearest to these joint values.
        relative_to: frame in which poses are given; the world by default.
        position_only: solve for the position only, with any orientation.
        task: pose (the default), position, position+axis or rotation.
        no_limits: ignore the joint limits.
        limits: narrower limits of joints, such as joint1=-0.5,0.5 joint3=0,90deg.
        windings: include solutions that differ by full turns within the limits.
        method: auto, scan, closed_form, six_revolute, local, or certified: all with a proof.
        samples: values of the redundant joint; random seeds if several joints are redundant.
        redundant_joint: name of the redundant joint; by default the one that moves most in self-motions.
        tolerance: accepted pose error of the nearest configuration, m and rad (--deg for degrees).
        explain: describe the solution method.
    """
    import math
    import sys

    import numpy as np

    from ..errors import ZvenoError
    from ..ik.ik_problem import problem_of
    from ..ik.paths import solve_path
    from ..ik.solution_files import write_solutions
    from ..ik.solve import solve_ik, solve_near
    from ..robot import Robot
    from .configuration import parsed_limits
    from .model import given, loaded

    if limits and no_limits:
        raise ZvenoError("--limits and --no-limits exclude each other", remedy="Give one of them")
    protect(output, [robot, poses, path], reports=True, plot=picture.plot)
    unused({"task": task if position_only else None}, "leave out --position-only")
    if path is not None:
        apart = {"windings": windings, "redundant-joint": redundant_joint, "tolerance": tolerance}
        unused(apart | {"explain": explain, "nearest": nearest if q0 else ()}, "use --poses")
    mechanism = loaded(robot, model)
    arm = Robot(mechanism)
    options = {
        "frame": model.meant,
        "relative_to": relative_to,
        "limits": parsed_limits(mechanism, limits, model.deg) or not no_limits,
        "task": "position" if position_only else task or "pose",
    }
    if tolerance is not None and model.deg:
        tolerance = tolerance[0], math.radians(tolerance[1])
    T = _target(arm, pose, at, poses, path, rotation, relative_to, model)
    first_q = given(mechanism, q0 or nearest, model) if q0 or (nearest and path is not None) else None
    if poses is None and workers.workers is not None:
        raise ZvenoError("there is nothing to share", element="--workers", remedy="Give many poses: --poses")
    if path is not None:
        result = solve_path(
            arm, T, q0=first_q, method=method, **({"samples": samples} if samples else {}), **options
        )
        write_plot(result, picture.plot)
        answer = answer_of(result, model.deg)
    else:
        with workers.executor() as executor:
            if method == "local":
                unused({"samples": samples, "redundant-joint": redundant_joint}, "leave out --method local")
                result = solve_near(arm, T, start=first_q, executor=executor, **options)
            else:
                unused({"q0": q0}, "add --method local, or --path")
                ways = {"method": method, "samples": samples, "redundant_joint": redundant_joint}
                result = solve_ik(arm, T, executor=executor, **ways, **options)
        result = result.windings() if windings else result
        result = result if tolerance is None else result.within(*tolerance)
        if nearest:
            goal = given(mechanism, nearest, model)
            result = result.sorted_by(lambda q: ((q - goal) ** 2).sum(axis=1))
        said = {}
        if explain:
            problem = problem_of(arm, **options)
            curve = _curve(problem, _first(problem, T), method)
            said["explanation"] = _explained(problem, method, samples, curve)
        plain = answer_of(result, model.deg, **said)

        def show(console):
            plain.show(console)
            for text in said.values():
                console.print(f"\n{text}")

        answer = Answer(plain.data, show)
        write_plot(result, picture.plot)
    write_report(result, output)
    if output.out is not None and output.out.suffix.lower() in (".csv", ".npz"):
        say_written(write_solutions(result, output.out, model.deg))
    else:
        deliver(answer, output)
    unsolved = int(np.isnan(result.q).any(axis=-1).sum()) if path is not None else 0
    if unsolved:
        print(f"{unsolved} of {len(result.q)} poses of the path have no solution", file=sys.stderr)
    if unsolved or np.isnan(result.q).all():
        raise SystemExit(UNUSABLE)


def _first(problem, T):
    """First pose as it was solved; repairs have been reported already."""
    import warnings

    from ..ik.targets import checked_targets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return checked_targets(problem, T if isinstance(T, str) else T.reshape(-1, *T.shape[-2:])[:1])[0][0]


def _curve(problem, T, method: str):
    """Function of one angle whose zeros are the solutions, or None if the solver does not use one."""
    from ..ik.six_revolute import solver
    from ..ik.six_revolute.route import curve

    wanted = method in ("auto", "closed_form", "six_revolute") and not problem.redundancy
    return curve(problem, T) if wanted and solver.applies(problem) else None


def _explained(problem, method: str, slices: int | None, curve) -> str:
    """Explain the method, its template, and the result at one pose."""
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
        return "One solution by damped Newton iterations from --q0, or from random starts; nothing is proved."
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


def _target(arm, pose, at, poses, path, rotation, relative_to, model):
    """Read the requested pose or poses from the arguments."""
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
    if at or is_elementary_text(" ".join(pose)):
        unused({"rotation": rotation != "rpy"}, "give x y z rx ry rz")
    if pose and is_elementary_text(" ".join(pose)):
        return " ".join(pose)
    if pose:
        return pose_of_words(pose, "pose", model.deg, rotation)
    if at:
        q = parsed_q(arm.mechanism, at, model.deg)
        T = arm.forward_kinematics(q, frame=model.meant)
        return T if relative_to is None else inverse(arm.forward_kinematics(q, frame=relative_to)) @ T
    return read_poses(poses or path, model.deg, rotation)
