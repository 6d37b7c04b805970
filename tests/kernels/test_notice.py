"""Long builds say on a terminal what is compiled, and leave nothing there."""

from __future__ import annotations

import io

import numpy as np

from kernels.programs import random_program
from zveno.kernels import notice
from zveno.kernels.kernel import compile


class Terminal(io.StringIO):
    """Says that it is one, unless told otherwise."""

    def __init__(self, is_terminal: bool = True):
        super().__init__()
        self.isatty = lambda: is_terminal


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
