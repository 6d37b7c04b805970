"""Robots that both sides read from the same file."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import zveno
from zveno.mechanism.reduce import merge_fixed


def urdf(name: str) -> Path:
    """A file of the package example-robot-data."""
    import pinocchio

    prefix = next(folder for folder in Path(pinocchio.__file__).parents if folder.name == "cmeel.prefix")
    return next((prefix / "share" / "example-robot-data").rglob(name))


class Pair:
    """A robot here and in Pinocchio, with a batch of states for both."""

    def __init__(self, file: str, n: int = 1024, locked: tuple[str, ...] = ()):
        import pinocchio as pin

        path = urdf(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = zveno.load(path, snap=True)
        if locked:
            from zveno.mechanism.edit import fix_joints

            robot = zveno.Robot(fix_joints(robot.mechanism, locked))
        # Pinocchio merges links on fixed joints when it reads a file; do the same.
        self.robot = robot = zveno.Robot(merge_fixed(robot.mechanism))
        model = pin.buildModelFromUrdf(str(path))
        if locked:
            ids = [model.getJointId(name) for name in model.names if name not in robot.joint_names][1:]
            model = pin.buildReducedModel(model, ids, pin.neutral(model))
        assert model.nq == robot.n_q, (file, model.nq, robot.n_q)
        self.model, self.data = model, model.createData()
        # Pinocchio orders siblings by name: map our order to theirs.
        order = [robot.joint_names.index(name) for name in model.names[1:]]
        rng = np.random.default_rng(0)
        self.q = robot.random(n, rng)
        self.v, self.a = rng.normal(size=(2, n, robot.n_v))
        self.pin_states = [np.ascontiguousarray(x[:, order]) for x in (self.q, self.v, self.a)]
        self.n = n
