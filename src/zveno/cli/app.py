"""Entry point: parses, runs a verb, and turns what went wrong into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence

from ..errors import ZvenoError, ZvenoWarning, visible

_SIGNED_QUANTITY = re.compile(r"-(?:[\d.]+(?:e[-+]?\d+)?\s*[a-z°*/]|pi\b|π)", re.IGNORECASE)
OK, FAILED, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141

DESCRIPTION = """Robot mechanisms: from a drawing or URDF to all the equations.

ROBOT is one of
  - a built-in name (`zveno robots` lists them)
  - a model file: .urdf, .xml (MJCF or URDF), .toml (Denavit-Hartenberg), .ets
  - elementary transforms as one word: "Rz(q1) Tx(0.3) Rz(q2)"

`zveno VERB --help` explains a verb; --json, --out and --debug work with all.

Exit codes: 0 done, 1 an error in zveno itself (--debug shows where),
2 bad input, 3 nothing found or nothing to be used, 130 interrupted."""

VERBS = {
    "info": "verbs",
    "fk": "verbs",
    "dynamics": "dynamics",
    "ik": "ik",
    "simulate": "simulate",
    "base": "base",
    "identifiability": "identifiability",
    "plan": "plan",
    "calibrate": "calibrate",
    "excite": "excite",
    "identify": "identify",
    "export": "export",
    "reproduce": "reproduce",
    "robots": "verbs",
    "cache": "verbs",
    "demo": "demo",
}
"""The module of this package that has the function of each verb, which is called like it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if argv is None:  # the process is ours
        argv = sys.argv[1:]
        from ..report.text.console import spell_what_the_terminal_lacks

        spell_what_the_terminal_lacks()
    argv = [_not_an_option(word) for word in argv]
    debug = "--debug" in argv
    with warnings.catch_warnings():
        warnings.simplefilter("always", ZvenoWarning)
        warnings.showwarning = _show_warning
        try:
            _run(argv or ["--help"])
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else OK
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            # What is left in the buffer would fail again when Python flushes it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return CLOSED_PIPE
        except ZvenoError as error:
            return _report(error, f"error: {_one_line(error)}", BAD_INPUT, debug)
        except Exception as error:
            problem = f"error in zveno: {type(error).__name__}: {_one_line(error)} (--debug shows where)"
            return _report(error, problem, FAILED, debug)
    return OK


def _run(argv: list[str]) -> None:
    import tyro

    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    if argv[0] in VERBS:  # the modules of other verbs are left alone
        tyro.cli(_verb(argv[0]), prog=f"zveno {argv[0]}", args=argv[1:], config=config)
    else:
        verbs = {name: _verb(name) for name in VERBS}
        tyro.extras.subcommand_cli_from_dict(verbs, prog="zveno", description=DESCRIPTION, args=argv, config=config)


def _verb(name: str) -> Callable[..., None]:
    return getattr(importlib.import_module(f".{VERBS[name]}", __package__), name)


def _not_an_option(word: str) -> str:
    """`-20deg` and `-pi/2` are values; with a typographic minus they are not taken for options."""
    return f"−{word[1:]}" if _SIGNED_QUANTITY.match(word) else word


def _report(error: BaseException, line: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    print(line, file=sys.stderr)
    return code


def _show_warning(message, category, filename, lineno, file=None, line=None):
    name = "warning" if issubclass(category, ZvenoWarning) else category.__name__
    print(f"{name}: {_one_line(message)}", file=sys.stderr)


def _one_line(message) -> str:
    return " ".join(visible(str(message)).split())
