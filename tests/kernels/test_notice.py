"""Long builds say on a terminal what is compiled, and leave nothing there."""

from __future__ import annotations

import io

import numpy as np
import pytest

from kernels.programs import compile, random_program
from zveno.kernels import _notice as notice
from zveno.kernels.builder import Builder
from zveno.kernels.compile import compiled, compiled_structured


class Terminal(io.StringIO):
    """Says that it is one, unless told otherwise."""

    def __init__(self, is_terminal: bool = True):
        super().__init__()
        self.isatty = lambda: is_terminal


class AtOnce:
    """A timer without a thread: what is due now is done, everything else never."""

    def __init__(self, seconds: float, function):
        self.function = function if seconds <= 0.0 else lambda: None

    def start(self):
        self.function()

    def cancel(self):
        """Nothing is left to do."""

    join = cancel


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(notice.threading, "Timer", AtOnce)


@pytest.mark.laws
@pytest.mark.usefixtures("at_once")
def test_only_long_builds_on_terminals_are_noticed(monkeypatch):
    program = random_program(0, 2000)
    compile(program)  # and with it the code that all kernels share
    shown = []
    for patience, is_terminal in ((0.0, True), (60.0, True), (0.0, False)):
        terminal = Terminal(is_terminal)
        with monkeypatch.context() as patch:
            patch.setattr(notice, "PATIENCE", patience)
            patch.setattr(notice.sys, "stderr", terminal)
            kernel = compile(program)
        shown.append(terminal.getvalue())
    assert shown == [f"compiling {program.name} …\r\x1b[K", "", ""]
    assert np.isfinite(kernel(np.ones(8), np.ones((2, 3)))[0]).any()


def scaled(factor, x):  # like no other function of the tests: equal programs share their code
    return factor * x / (7.0 + x * x * x)


def doubling(program: Builder, n: int) -> None:
    x, y = program.input("x", (n,)), program.output("y", (n,))
    with program.each(n) as i:
        y[i] = program.step(doubled, x[i])


def doubled(x):
    return 2.0 * x / (9.0 + x * x * x)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: compiled(scaled, {"x": (3,)}, constants=(np.pi,)), "scaled"),
        (lambda: compiled_structured(doubling, 3), "doubling"),
    ],
    ids=["straight", "structured"],
)
@pytest.mark.usefixtures("at_once")
def test_every_way_to_a_kernel_is_noticed(monkeypatch, tmp_path, build, name):
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path))
    terminal = Terminal()
    monkeypatch.setattr(notice, "PATIENCE", 0.0)
    monkeypatch.setattr(notice.sys, "stderr", terminal)
    build()
    assert terminal.getvalue() == f"tracing {name} …\r\x1b[Kcompiling {name} …\r\x1b[K"


@pytest.mark.usefixtures("at_once")
def test_works_that_follow_each_other_are_one_for_who_waits(monkeypatch):
    """Twenty builds of half a second are ten seconds of silence otherwise; a pause begins anew."""
    terminal, clock = Terminal(), [100.0]
    monkeypatch.setattr(notice, "_waiting", notice._Waiting())
    monkeypatch.setattr(notice.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(notice.sys, "stderr", terminal)
    waits = []
    for pause in (0.0, 0.1, 0.1, 0.1, 2 * notice.PAUSE):
        clock[0] += pause
        waits.append(notice._waiting.left())
        with notice.notice("working"), notice.notice("inside"):
            clock[0] += 0.4
    assert waits == pytest.approx([1.0, 0.5, 0.0, 0.0, 1.0])
    assert "inside" not in terminal.getvalue()


def test_the_line_goes_when_the_work_fails(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(notice, "PATIENCE", 0.0)
    monkeypatch.setattr(notice.sys, "stderr", terminal)
    try:
        with notice.notice("waiting"):
            while not terminal.getvalue():
                pass
            raise ValueError
    except ValueError:
        pass
    assert terminal.getvalue() == "waiting …\r\x1b[K"
