"""An arm of six revolute joints, poses proved one by one in balls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from ..balls import NotProved, Rigid, TooWide, inverse, precision, product, require_time
from ..krawczyk import Isolated, Loop, isolated
from .back_substitution import candidates
from .elimination import Elimination, Template

PRECISIONS = (160, 320)
"""Bits: all templates with the first, then all with the second, which a template whose candidates are too wide to
be told apart gets at once (at 1e-7 rad from singular it then proved 9 of 9 poses, another template 3 of 10)."""


@dataclass
class Attempt:
    """Outcome of a pose: its solutions, or why they are not proved."""

    solutions: list[Isolated] | None
    bits: int = 0
    reasons: list[str] = field(default_factory=list)

    def precision(self) -> AbstractContextManager[None]:
        """Return the precision at which it was proved."""
        return precision(self.bits)


class SixRevolute:
    """Six revolute joints with exact constants between them.

    Args:
        constants: gives C_0 … C_6 in balls of the precision of the moment.
        templates: ways to eliminate, in the order in which they are tried.
    """

    def __init__(self, constants: Callable[[], Sequence[Rigid]], templates: Sequence[Template]):
        self.constants = constants
        self.templates: Sequence[Template] = templates
        self._eliminations: dict[tuple[Template, int], Elimination] = {}

    def solve(self, target: Callable[[], Rigid]) -> Attempt:
        """Find all solutions of one target; `target` gives it in balls of the current precision."""
        reasons = []
        waiting = [(template, bits) for bits in PRECISIONS for template in self.templates]
        while waiting:
            template, bits = waiting.pop(0)
            with precision(bits):
                links = loop_links(self.constants(), target())
                try:
                    require_time()
                    system = self._elimination(template, bits).system(links[0])
                    return Attempt(isolated(Loop(links, "R" * 6), candidates(system)), bits, reasons)
                except NotProved as obstacle:
                    reasons.append(str(obstacle))
                    if isinstance(obstacle, TooWide):
                        waiting.sort(key=lambda other, own=template: other[0] != own)
        return Attempt(None, PRECISIONS[-1], reasons or ["no way to eliminate is regular for this arm"])

    def _elimination(self, template: Template, bits: int) -> Elimination:
        known = self._eliminations.get((template, bits))
        if known is None:
            known = Elimination(template, self.constants())
            self._eliminations[template, bits] = known
        return known


def loop_links(C: Sequence[Rigid], target: Rigid) -> list[Rigid]:
    """Return L_0 … L_n−1 with L_0 Z_1 L_1 … L_n−1 Z_n = 1, of C_0 … C_n and a target."""
    return [product(product(C[-1], inverse(target)), C[0]), *C[1:-1]]
