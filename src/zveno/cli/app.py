"""Entry point: parses, runs a verb, and turns what went wrong into one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence

from ..errors import ZvenoError, ZvenoWarning, visible

_SIGNED_QUANTITY = re.compile(r"-(?:[\d.]+(?:e[-+]?\d+)?\s*[a-z°*/]|pi\b|π)", re.IGNORECASE)
OK, FAILED, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141

DESCRIPTION = """Robot mechanisms: from a drawing or URDF to all the equations.

ROBOT is a built-in name (`zveno robots` lists them), a model file (.urdf, .xml
for MJCF or URDF, .toml for a Denavit-Hartenberg table, .ets for elementary
transforms), or elementary transforms as one word: "Rz(q1) Tx(0.3) Rz(q2)".
`zveno VERB --help` explains a verb; --json, --out and --debug work with all.

Exit codes: 0 done, 1 an error in zveno itself (--debug shows where),
2 bad input, 3 nothing found or nothing to be used, 130 interrupted."""


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


def _run(argv: list[str]):
    import tyro

    from . import (
        base,
        calibrate,
        demo,
        dynamics,
        excite,
        export,
        identifiability,
        ik,
        plan,
        reproduce,
        simulate,
        verbs,
    )

    commands = {
        "info": verbs.info,
        "fk": verbs.fk,
        "dynamics": dynamics.dynamics,
        "ik": ik.ik,
        "simulate": simulate.simulate,
        "base": base.base,
        "identifiability": identifiability.identifiability,
        "plan": plan.plan,
        "calibrate": calibrate.calibrate,
        "excite": excite.excite,
        "export": export.export,
        "reproduce": reproduce.reproduce,
        "robots": verbs.robots,
        "cache": verbs.cache,
        "demo": demo.demo,
    }
    tyro.extras.subcommand_cli_from_dict(
        commands,
        prog="zveno",
        description=DESCRIPTION,
        args=argv,
        config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
    )


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
