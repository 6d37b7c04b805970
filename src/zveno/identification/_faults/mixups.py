"""Mixed-up joints: positions with the wrong sign, positions or torques of two joints swapped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .fault import Fault
from .samples import Samples

WORTH = 0.3
"""Decrease of the mean log of relative squared residuals from which a mix-up is reported: residuals 14 % smaller on
all joints together."""
ALIKE = 0.8


def mixup_faults(samples: Samples, names: Sequence[str]) -> list[Fault]:
    """Return the mix-up that explains the torques best, with those that explain them nearly as well."""
    n = len(names)
    same, plus = np.arange(n), np.ones(n)
    tried: list[tuple[float, str, tuple[str, ...], str]] = []
    for j in range(n):
        signs = plus.copy()
        signs[j] = -1.0
        turned = samples.with_motion(signs, same)
        words = f"positions of {names[j]} have the other sign"
        tried.append((turned.misfit(), "position sign", (names[j],), words))
        both = turned.with_torques(signs, same)
        words = f"positions and torques of {names[j]} have the other sign"
        tried.append((both.misfit(), "position sign", (names[j],), words))
    for i, j in combinations(range(n), 2):
        order = same.copy()
        order[[i, j]] = j, i
        pair = (names[i], names[j])
        words = f"{names[i]} and {names[j]} are swapped"
        tried.append((samples.with_torques(plus, order).misfit(), "swapped", pair, f"torques of {words}"))
        tried.append((samples.with_motion(plus, order).misfit(), "swapped", pair, f"positions of {words}"))
    now = samples.misfit()
    tried.sort(key=lambda each: each[0])
    best = now - tried[0][0]
    if best < WORTH:
        return []
    alike = [each for each in tried if now - each[0] >= ALIKE * best]
    joints = tuple(dict.fromkeys(name for each in alike for name in each[2]))
    text = "; or ".join(each[3] for each in alike)
    text += f": residuals would fall by {1.0 - np.exp(-0.5 * best):.0%}. Check the columns"
    return [Fault(tried[0][1], joints, float(best), text, float(best))]
