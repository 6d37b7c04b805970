"""View of an identification: inertia ellipsoids of identified and nominal links, torques along the log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...identification.result import Identification
from ...report import solids
from ...report.robot_parts import Part
from ...report.solids import Mesh
from ...spatial import inertia
from ...spatial.transforms import transform
from ..instances import Instances
from ..playback import add_plot
from ..stage import Stage

NOMINAL, IDENTIFIED = "#aab4c0", "#1d5fd1"
MOST_ROWS = 3000


class Ellipsoid(NamedTuple):
    """Solid ellipsoid of uniform density with the inertia of a link."""

    T: np.ndarray
    """Centre and principal axes in the link frame, (4, 4)."""
    radii: np.ndarray
    """Half axes, (3,), m."""


def show_identification(stage: Stage, gui: Any, result: Identification) -> None:
    """Show ellipsoids on the links, and the torque of a joint along the log."""
    gui.add_markdown(result.verdict)
    _add_ellipsoids(stage, gui, result)
    _add_torques(gui, result)


def equivalent_ellipsoid(p: np.ndarray) -> Ellipsoid | None:
    """Compute the ellipsoid of a link's ten parameters; None for a massless or physically impossible link.

    A solid ellipsoid with half axes a, b, c has the second moments m a²/5, m b²/5, m c²/5 about its centre.
    """
    if not p[0] > 0.0 or inertia.problems(p):
        return None
    tensor = inertia.tensor_at_center(p)
    second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    moments, R = np.linalg.eigh(second)
    R = R * np.sign(np.linalg.det(R))
    return Ellipsoid(transform(R, inertia.center_of_mass(p)), np.sqrt(5.0 * np.maximum(moments, 0.0) / p[0]))


def _add_ellipsoids(stage: Stage, gui: Any, result: Identification) -> None:
    same = {name: k for k, name in enumerate(stage.mechanism.link_names)}
    ball = solids.ball([0.0, 0.0, 0.0], 1.0).unit_mesh()
    sphere = Mesh(2.0 * (ball.vertices - [0.0, 0.0, 0.5]) * [0.5, 0.5, 1.0], ball.faces)
    sets: dict[str, list[Part]] = {"nominal": [], "identified": []}
    nominal = {link.name: link.inertia for link in result.nominal.links}
    for link in result.robot.mechanism.links:
        for name, color, numbers in (
            ("nominal", NOMINAL, nominal.get(link.name)),
            ("identified", IDENTIFIED, link.inertia),
        ):
            shape = None if numbers is None else equivalent_ellipsoid(np.asarray(numbers))
            if shape is not None and link.name in same:
                sets[name].append(Part(same[link.name], color, sphere._replace(T=shape.T, scale=shape.radii)))
    drawn = {}
    for name, parts in sets.items():
        drawn[name] = Instances(stage.server.scene, f"{stage.node}/inertia/{name}", parts, opacity=0.45)
        drawn[name].place(stage.link_poses(stage.q)[None])
        box = gui.add_checkbox(f"Inertia, {name}", True)
        box.on_update(lambda event, each=drawn[name]: each.show(bool(event.target.value)))
    stage.followers.extend(drawn.values())
    count = len(sets["identified"])
    gui.add_markdown(
        f"Ellipsoids of even density with the same inertia: {count} links, nominal grey, identified blue."
    )


def _add_torques(gui: Any, result: Identification) -> None:
    series = result.validation.series
    names = tuple(result.joint_names)
    chosen = gui.add_dropdown("joint", names, initial_value=names[0])
    rows = slice(0, MOST_ROWS)

    def lines(j: int) -> dict[str, np.ndarray]:
        moving = series.moving[rows, j]
        pairs = (("measured", series.measured), ("predicted", series.predicted))
        return {name: np.where(moving, each[rows, j], np.nan) for name, each in pairs}

    t = np.arange(len(series.measured[rows])) * series.interval
    plot = add_plot(gui, "Torque, held out, N·m or N", t, lines(0), unit="s of motion")

    def redraw(event: Any) -> None:
        if event.target.value in names:
            curves = lines(names.index(event.target.value))
            kept = np.unique(np.linspace(0, len(t) - 1, len(plot.data[0])).round().astype(int))
            plot.data = (t[kept], *(each[kept] for each in curves.values()))

    chosen.on_update(redraw)
