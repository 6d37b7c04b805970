"""Results of inverse kinematics along a path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from ...errors import ZvenoError
from ...io.results import registered
from ...mechanism import Mechanism
from ...report.description import Description
from ...report.result import Result
from .strands import Branch

PathStatus = Literal["continuous", "with jumps", "incomplete"]


@registered
@dataclass(frozen=True, eq=False)
class Motion:
    """A motion along consecutive cubic splines, each parametrised by its chord length s and run from rest to rest.

    Attributes:
        knots: (m, n_q) configurations.
        s: (m,) their values of s, from 0 on every spline.
        grid: (g,) values of s between which s̈ is constant.
        rate: (g,) ṡ at the grid.
        first: (splines + 1, 2) numbers of the first knot and the first grid point of each spline.
    """

    knots: np.ndarray
    s: np.ndarray
    grid: np.ndarray
    rate: np.ndarray
    first: np.ndarray


@registered
@dataclass(frozen=True, eq=False, repr=False)
class JointPath(Result):
    """A path in joint space.

    Attributes:
        q: (N, n_q) the best sequence of configurations; NaN where a pose has no solution.
        jumps: numbers k where the arm cannot follow the path from pose k to pose k + 1: the motion integrated from
            one configuration does not lead to the other.
        jump_sizes: joint motion of each jump, in radians and lengths of the arm.
        jump_deviations: (jumps, 2) metres and radians by which the frame leaves the path, taken as a constant twist
            from pose to pose, if all joints move evenly across the jump. Small values mean that a singularity lies
            on the way and that such a motion passes it; large ones mean that the arm changes branch.
        jump_fractions: (jumps,) share of the way to the next pose that the arm can go before each jump.
        jump_reasons: why it goes no further: a limit by name, a singularity, the reach, or a better place to jump.
        unsolved: numbers of the poses without solutions.
        incomplete: numbers of the poses that may have further solutions, so that a better sequence may exist.
        singular: numbers of the poses at which the chosen sequence is nearly singular.
        branches: every branch that starts at the first pose, as far as it goes; none for redundant arms.
        fraction: of the path, measured in poses, that the sequence does before its first jump or unsolved pose.
        cost: sum of squared joint steps of the sequence, jumps left out.
        times: (N,) s from the start of the motion at which each pose is passed, where velocities or accelerations
            are limited; a jump is made from rest to rest, all joints straight on. None otherwise.
        velocity: (N, n_q) joint velocities at those times.
        motion: between the poses, if there are times: a spline through configurations of the path; see `sample`.
        joint_names: coordinate names.
        mechanism, frame: the robot and the frame that follows the path.
        chain: places in q of the coordinates that move the frame.
    """

    kind: ClassVar[str] = "path"

    q: np.ndarray
    jumps: tuple[int, ...]
    unsolved: tuple[int, ...]
    singular: tuple[int, ...]
    branches: tuple[Branch, ...]
    cost: float
    joint_names: tuple[str, ...]
    mechanism: Mechanism
    frame: str
    chain: tuple[int, ...]
    jump_sizes: tuple[float, ...] = ()
    jump_deviations: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    jump_fractions: np.ndarray = field(default_factory=lambda: np.zeros(0))
    jump_reasons: tuple[str, ...] = ()
    incomplete: tuple[int, ...] = ()
    fraction: float = 1.0
    times: np.ndarray | None = field(default=None)
    velocity: np.ndarray | None = field(default=None)
    motion: Motion | None = field(default=None)

    @property
    def status(self) -> PathStatus:
        """ "continuous", "with jumps" or "incomplete"."""
        if self.unsolved:
            return "incomplete"
        return "with jumps" if self.jumps else "continuous"

    @property
    def summary(self) -> str:
        """Summarize the result in a sentence or two."""
        text = f"{len(self.q)} poses"
        if self.branches:
            whole = sum(branch.ended is None for branch in self.branches)
            text += f", {whole} of {len(self.branches)} starting branches reach the end"
        if self.unsolved:
            text += f"; no solution at poses {_listed(self.unsolved)}"
        if self.jumps:
            text += f"; the best sequence has to jump after poses {_listed(self.jumps)}"
            if self.jump_reasons:
                text += f", first {100.0 * self.jump_fractions[0]:.0f} % of the way on: {self.jump_reasons[0]}"
            metres, radians = self.jump_deviations.max(axis=0, initial=0.0)
            text += f" (joints that move evenly leave the path there by up to {metres:.2g} m, {radians:.2g} rad)"
        if self.fraction < 1.0:
            text += f"; {100.0 * self.fraction:.0f} % of the path without interruption"
        if self.singular:
            text += f"; nearly singular at poses {_listed(self.singular)}"
        if self.incomplete:
            text += f"; solutions may be missing at poses {_listed(self.incomplete)}"
        if self.times is not None:
            text += f"; takes {np.nanmax(self.times):.3g} s"
        return text if self.jumps or self.unsolved else text + "; the best sequence is continuous"

    def sample(self, rate: float = 1000.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return t (n,), and q, v and a (n, n_q) of the timed motion, also between the poses, at a rate in Hz.

        Limits of position, velocity and acceleration hold at all times. Jumps and ways past poses without solutions
        are straight lines.
        """
        if self.motion is None or not len(self.motion.knots):
            raise ZvenoError(
                "the path has no times" if self.motion is None else "no pose has a solution",
                element="path",
                remedy="Give velocity= or acceleration= to ik_path, and poses that can be reached",
            )
        from .timing import sampled  # not needed to load a result

        return sampled(self.motion, rate)

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from .._describe import describe_path

        return describe_path(self)


def _listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown if len(numbers) <= 8 else f"{shown} and {len(numbers) - 8} more"
