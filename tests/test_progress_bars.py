"""Progress bars: work inside of other work shows none of its own."""

from __future__ import annotations

from zveno import progress
from zveno.progress import ProgressBar


def test_one_bar_at_a_time(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with ProgressBar("outer", True) as outer:
        outer(1, 2)
        assert ProgressBar.shown is outer
        with ProgressBar("inner", True) as inner:
            inner(1, 2)
        assert ProgressBar.shown is outer
    assert ProgressBar.shown is None
    with ProgressBar("later", True) as later:
        later(1, 2)
        assert ProgressBar.shown is later
    assert ProgressBar.shown is None
