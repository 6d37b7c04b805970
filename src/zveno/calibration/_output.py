"""Calibrated robot in exchange formats: mechanism, URDF, DH table, elementary text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..io.write import model_text
from ..mechanism import Frame, Mechanism
from ..mechanism.edit import rebuilt
from ..spatial.rotations import elementary
from ..spatial.transforms import inverse, transform
from ._joint_terms import IN_WORDS
from .models import LETTERS, Block, Model


def deviation(block: Block, values: np.ndarray) -> np.ndarray:
    """Return Δ (4, 4) of a block: its constant transform becomes T Δ."""
    terms = values[block.first : block.first + 6]
    T = transform(block.T[:3, :3], block.T[:3, 3] + terms[:3])
    for axis, angle in enumerate(terms[3:]):
        T = T @ transform(elementary(LETTERS[axis], float(angle)))
    return inverse(block.T) @ T


def calibrated_mechanism(model: Model, values: np.ndarray) -> Mechanism:
    """Return the mechanism with deviations included in the placements of its joints and frames.

    Errors of a link go into the placement of the joint that follows, offsets into the joint's own. A frame that
    is a link's own becomes a frame `tool` (or NAME_calibrated) on it. Joint terms beyond offsets have no place in a
    mechanism; `Calibration.predict` and `compensate` apply them.
    """
    mechanism = model.mechanism
    placed, frames = [joint.T_parent_joint for joint in mechanism.joints], list(mechanism.frames)
    notes, renamed = list(mechanism.notes), {}
    moves = {move.number: move for move in model.moves}
    for block in model.blocks:
        if block.frame is None and values[block.first : block.first + 6].any():
            move = moves[block.end]
            placed[block.end - 1] = placed[block.end - 1] @ move.Z @ deviation(block, values) @ inverse(move.Z)
        elif block.frame is not None and values[block.first : block.first + 6].any():
            old = mechanism.frame(block.frame)
            named = any(frame.name == block.frame for frame in frames)
            name = block.frame if named else _new_name(mechanism, block.frame)
            renamed[block.frame] = name
            moved = Frame(name, old.link, old.T_link_frame @ deviation(block, values))
            frames = [frame for frame in frames if frame.name != name] + [moved]
            if not named:
                notes.append(f"the calibrated frame of {block.frame} is {name}")
    for move in model.moves:
        if move.offset_term >= 0 and values[move.offset_term]:
            turned = move.joint.type.motion(np.array([values[move.offset_term]]))
            placed[move.number - 1] = placed[move.number - 1] @ turned
        for number, term in move.joint_terms:
            if values[number]:
                shown = f"{model.names[number]} = {values[number]:.4g} {model.terms[number].unit}"
                notes.append(f"joint {move.joint.name} ({IN_WORDS[term.word]}): {shown}")
    loops = tuple(
        replace(loop, frame=renamed.get(loop.frame, loop.frame), other=renamed.get(loop.other, loop.other))
        for loop in mechanism.loops
    )
    joints = [
        joint if T is joint.T_parent_joint else replace(joint, T_parent_joint=T)
        for joint, T in zip(mechanism.joints, placed, strict=True)
    ]
    return rebuilt(mechanism, joints=joints, frames=frames, loops=loops, notes=tuple(notes))


def text_of(mechanism: Mechanism, format: str) -> tuple[str, str]:
    """Return (text, note for the user) as "urdf", "dh" or "elementary".

    A calibrated robot rarely fits a Denavit–Hartenberg table as it was: neighbouring axes that were parallel are
    no longer so, and their common normal is far away. Where the table is refused, the elementary product, which
    has the extra constant transforms, is given instead.
    """
    try:
        return model_text(mechanism, format), ""
    except ModelError as error:
        if format != "dh":
            raise
        why = f"a DH table cannot hold the calibrated robot ({error.problem})"
        return model_text(mechanism, "elementary"), f"{why}; the elementary product is given instead"


def _new_name(mechanism: Mechanism, frame: str) -> str:
    if (
        "tool" not in mechanism.frame_names
        and len(mechanism.tree.leaves) == 1
        and mechanism.default_frame.name == frame
    ):
        return "tool"
    return f"{frame}_calibrated"
