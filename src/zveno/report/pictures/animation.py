"""A motion as a moving picture: .gif and .webp by Pillow, .mp4 by ffmpeg."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import link_poses
from ...errors import MissingExtraError, ZvenoError
from ...io.files import replacing
from ...progress import Progress, ProgressBar
from ..shapes.parts import ground_below, robot_parts, upright_axes
from .files import figure_class
from .raster import Camera
from .view import (
    PAPER,
    FacetTable,
    Layer,
    add_foot,
    best_camera,
    ground_area,
    ground_grid,
    image_of,
)

FORMATS = (".gif", ".webp", ".mp4")
MOST_FRAMES = 1500
"""A minute; more are refused."""
DPI = 100


def animate_trajectory(
    trajectory: Any,
    path: str | PathLike[str],
    *,
    speed: float = 1.0,
    rate: float = 25.0,
    size: tuple[int, int] = (640, 480),
    progress: Progress = None,
) -> Path:
    """The robot in motion, seen from one place; of a batch, the first run.

    Args:
        trajectory: a `Trajectory`.
        path: .gif, .webp or .mp4.
        speed: seconds of the motion in a second of the picture.
        rate: pictures a second.
        size: pixels, width and height.
        progress: whether a bar is shown, or a function of (done, total).
    """
    file = _checked(Path(path), speed, rate, size)
    mechanism = trajectory.mechanism
    if mechanism is None:
        raise ZvenoError("the motion does not hold its robot", element="animate", remedy="Simulate it again")
    one = trajectory.run(*(0,) * len(trajectory.batch))
    good = np.isfinite(one.q).all(axis=-1)
    t, q = one.t[good], one.q[good]
    if not len(t):
        raise ZvenoError("the motion has no finite state", element="animate", remedy="Look at its status")
    n = max(1, round((t[-1] - t[0]) / speed * rate) + 1)
    if n > MOST_FRAMES:
        raise ZvenoError(
            f"{n} pictures are more than {MOST_FRAMES}", element="animate", remedy="Raise speed or lower rate"
        )
    times = np.linspace(t[0], t[-1], n)
    chosen = np.searchsorted(t, times - 1e-9).clip(0, len(t) - 1)
    write = _video if file.suffix.lower() == ".mp4" else _pictures
    with ProgressBar("drawing", progress) as bar:
        frames = _frames(mechanism, q[chosen], size, bar)
        with replacing(file) as temporary:
            write(frames, Path(temporary), file.suffix.lower(), rate, size)
    return file


def _checked(file: Path, speed: float, rate: float, size: tuple[int, int]) -> Path:
    if file.suffix.lower() not in FORMATS:
        raise ZvenoError(
            f"a motion cannot be saved as {file.suffix!r}", file=file, remedy=f"Use {', '.join(FORMATS)}"
        )
    for name, value in (("speed", speed), ("rate", rate)):
        if not (np.isfinite(value) and value > 0):
            raise ZvenoError(f"is {value}", element=name, remedy="Give a positive number")
    if min(size) < 32 or max(size) > 4096 or any(side % 2 for side in size):
        raise ZvenoError(f"is {size}", element="size", remedy="Give two even numbers from 32 to 4096")
    if file.suffix.lower() == ".mp4":
        _ffmpeg(file)
    return file


def _frames(mechanism: Any, q: np.ndarray, size: tuple[int, int], bar: ProgressBar) -> Iterator[np.ndarray]:
    """(height, width, 3) bytes for every configuration; camera and ground are the same for all."""
    robot = robot_parts(mechanism)
    table = FacetTable(robot.parts)
    upright, length = upright_axes(mechanism), robot.size
    poses = [np.asarray(link_poses(mechanism, state)) for state in q]

    def layer(k: int, ground: float | None) -> Layer:
        made = Layer(upright, 1.0)
        made.add_facets(table.placed(poses[k]), table.colors)
        if ground is not None:
            add_foot(made, robot, ground)
        return made

    spread = sorted({*np.linspace(0, len(q) - 1, 24).round().astype(int).tolist()})
    lowest = min((table.placed(T) @ upright.T)[..., 2].min(initial=np.inf) for T in poses)
    ground = ground_below(robot, float(lowest) if np.isfinite(lowest) else 0.0)
    points = np.concatenate([layer(k, None).arrays()[0].reshape(-1, 3) for k in spread] + [np.zeros((0, 3))])
    seen = [layer(k, ground) for k in spread]
    camera = best_camera(
        points if len(points) else np.zeros((1, 3)), seen, length, (size[0] / DPI, size[1] / DPI), DPI
    )
    paper = _background(camera, seen, ground, length, size)
    for k in range(len(q)):
        image = image_of(camera, [layer(k, ground)], ground, length).astype(np.float32)
        cover = image[..., 3:] / 255.0
        yield (image[..., :3] * cover + paper * (1.0 - cover) + 0.5).clip(0, 255).astype(np.uint8)
        bar(k + 1, len(q))


def _background(
    camera: Camera, layers: list[Layer], ground: float, length: float, size: tuple[int, int]
) -> np.ndarray:
    """(height, width, 3): the grid on the ground, drawn once."""
    Figure = figure_class()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection

    figure = Figure(figsize=(size[0] / DPI, size[1] / DPI), dpi=DPI, facecolor=PAPER)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    lines, colors = ground_grid(camera, *ground_area(layers, length), ground)
    axes.add_collection(LineCollection(list(lines), colors=colors, linewidths=0.8))
    axes.set_xlim(camera.low[0], camera.high[0])
    axes.set_ylim(camera.low[1], camera.high[1])
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(np.float32)


def _pictures(frames: Iterator[np.ndarray], file: Path, suffix: str, rate: float, size: tuple[int, int]) -> None:
    from PIL import Image

    first, *others = (Image.fromarray(frame) for frame in frames)
    options = {"format": suffix[1:].upper(), "save_all": True, "append_images": others, "loop": 0}
    first.save(file, duration=round(1000 / rate), **options)


def _video(frames: Iterator[np.ndarray], file: Path, suffix: str, rate: float, size: tuple[int, int]) -> None:
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{rate:g}", "-i", "-"]
    words = [_ffmpeg(file), "-y", "-loglevel", "error", *raw, "-pix_fmt", "yuv420p", "-f", suffix[1:], str(file)]
    content = b"".join(frame.tobytes() for frame in frames)
    done = subprocess.run(words, input=content, capture_output=True)
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split())[:300]
        raise ZvenoError(f"ffmpeg cannot write it: {reason}", file=file, remedy="Use .gif or .webp")


def _ffmpeg(file: Path) -> str:
    try:
        return importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        program = shutil.which("ffmpeg")
    if program is None:
        raise MissingExtraError(
            ".mp4 needs ffmpeg", file=file, remedy="pip install imageio-ffmpeg, or use .gif or .webp"
        ) from None
    return program
