"""Tests in three tiers: `test` (every change), `laws` (every case), `attack` (hostile files, real data, browser).

A test without a mark is in the tier `test`; `@pytest.mark.laws` and `@pytest.mark.attack` move it. A law with many
cases keeps a few of them in `test`: `few` and `every` mark the others, and `@pytest.mark.laws(after=2)` those after
the first two. Hypothesis laws run in both tiers, with the numbers of `EXAMPLES` or `examples`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

TIERS = ("test", "laws", "attack")
EXAMPLES = {"test": 25, "laws": 200, "attack": 200}
"""Examples per hypothesis law in each tier, unless the law says otherwise."""
tier = "test"
"""The tier of this run; conftest.py sets it before test modules are imported."""


def few(cases: Iterable[Any], kept: int = 2) -> list[Any]:
    """Cases for `parametrize`: the first few are in `test`, the rest in `laws`. A tuple holds several arguments."""
    return [_case(case, k >= kept) for k, case in enumerate(cases)]


def every(cases: Iterable[Any], step: int = 3) -> list[Any]:
    """Cases for `parametrize`: every third is in `test`, beginning with the first, the others in `laws`."""
    return [_case(case, k % step > 0) for k, case in enumerate(cases)]


def examples(test: int, laws: int, **options: Any) -> settings:
    """Settings of a hypothesis law that needs other numbers of examples than `EXAMPLES`."""
    return settings(max_examples=test if tier == "test" else laws, **options)


def tiers_of(item: pytest.Item) -> set[str]:
    """The tiers an item runs in; a hypothesis law is in two, with more examples in the second."""
    marked = {name for name in ("laws", "attack") if item.get_closest_marker(name)}
    if "attack" in marked:
        return {"attack"}
    if marked or not getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return marked or {"test"}
    return {"test", "laws"}


def mark_later_cases(items: Iterable[pytest.Item]) -> None:
    """Leave the first n cases of `laws(after=n)` in the tier where they would be without it."""
    seen: Counter[str] = Counter()
    for item in items:
        later = [mark for mark in item.iter_markers("laws") if "after" in mark.kwargs]
        others = [mark for mark in item.iter_markers() if mark not in later]
        if later:
            first = item.nodeid.partition("[")[0]
            kept = seen[first] < later[0].kwargs["after"]
            seen[first] += not any(mark.name in ("laws", "attack") for mark in others)
            item.own_markers[:] = [mark for mark in item.own_markers if not (kept and mark in later)]


def _case(case: Any, law: bool) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=[pytest.mark.laws] if law else [])
