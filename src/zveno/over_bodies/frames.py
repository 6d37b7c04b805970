"""Frames of a mechanism on the bodies of a loop, and the bodies that carry them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..mechanism import Mechanism
from .bodies import Bodies


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames; code does not depend on which they are, nor on how many.

    Attributes:
        carriers: (k,), the body of each, −1 for the base.
        T_body_frame: (k, 4, 4).
    """

    carriers: np.ndarray
    T_body_frame: np.ndarray

    fingerprint = "frames"


def frames_on(mechanism: Mechanism, bodies: Bodies, names: Sequence[str | None]) -> tuple[Bodies, Frames]:
    """The bodies that carry the named frames, and the frames on them."""
    targets = [mechanism.frame(name) for name in names]
    links = [mechanism.link_number(target.link) for target in targets]
    carriers = bodies.carriers[links]
    on_way = np.zeros(bodies.n, dtype=bool)
    for body in carriers.tolist():
        while body >= 0 and not on_way[body]:
            on_way[body] = True
            body = int(bodies.parents[body])
    numbers = np.append(np.cumsum(on_way) - 1, -1)  # the last entry is that of the base
    T = np.array(
        [bodies.T_body_link[link] @ target.T_link_frame for link, target in zip(links, targets, strict=True)]
    )
    way = np.flatnonzero(on_way)
    carrying = replace(
        bodies,
        parents=numbers[bodies.parents[way]],
        **{name: getattr(bodies, name)[way] for name in ("which", "constants", "table", "first_q", "first_v")},
    )
    return carrying, Frames(numbers[carriers], T)
