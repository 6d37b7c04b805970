"""Freeze the answers of the library, or compare what it says now with what is frozen.

python -m corpus compare              every default part
python -m corpus compare ik real      parts by name
python -m corpus record calibration --only 'position/*'
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import zveno

from . import parts
from .cases import Case, Outcome
from .store import Archive

WIDTH = 80
SAVED_EVERY, SLOW = 20.0, 5.0
"""Seconds of CPU after which a recording is saved, and from which a case is named."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m corpus", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=("record", "compare", "list"))
    parser.add_argument("part", nargs="*", help=f"of {', '.join(parts.ALL)}")
    parser.add_argument("--only", default="*", help="pattern of the names of cases")
    parser.add_argument("--all", action="store_true", help="every difference, not the first ones")
    parser.add_argument("--missing", action="store_true", help="record only what is not frozen yet")
    options = parser.parse_args(arguments)
    chosen = options.part or list(parts.DEFAULT)
    for name in chosen:
        if name not in parts.ALL:
            parser.error(f"there is no part {name!r}; there are {', '.join(parts.ALL)}")
    warnings.simplefilter("ignore", zveno.ZvenoWarning)
    zveno.set_threads(1)
    if options.command == "list":
        for part in chosen:
            print(*(f"{part}  {case.name}" for case in _cases(part, Archive(part))), sep="\n")
        return 0
    if options.command == "record":
        return sum(_record(part, options.only, options.missing) for part in chosen) and 1
    return _compare(chosen, options.only, options.all)


def _cases(part: str, archive: Archive) -> Iterator[Case]:
    """Cases of a part; where one cannot even be described, it says so and ends the part."""
    try:
        yield from importlib.import_module(f"corpus.parts.{part}").cases(archive)
    except Exception as error:
        problem = error
        print(traceback.format_exc(limit=-2), file=sys.stderr)
    else:
        return

    def fail() -> dict[str, Any]:
        raise problem

    yield Case("the cases behind this one/cannot be described", fail)


def _record(part: str, only: str, missing: bool) -> int:
    """Store what the cases give now; the number of cases that failed."""
    archive, failed, known = Archive(part, recording=True), 0, []
    start = saved = time.process_time()
    for case in _cases(part, archive):
        known.append(case.name)
        if not fnmatch.fnmatch(case.name, only) or (missing and case.name in archive.names()):
            continue
        began = time.process_time()
        try:
            archive.put(case.name, case.values())
            if time.process_time() - began > SLOW:
                print(f"{part}: {case.name} took {time.process_time() - began:.0f} s of CPU", flush=True)
            if time.process_time() - saved > SAVED_EVERY:
                archive.save()
                saved = time.process_time()
        except Exception:
            failed += 1
            archive.drop([case.name])
            print(f"{part}: {case.name} failed\n{traceback.format_exc(limit=-3)}", file=sys.stderr)
    archive.drop(set(archive.names()) - set(known))
    archive.save()
    size = archive.path.stat().st_size / 1e3
    seconds = time.process_time() - start
    print(f"{part}: {len(known)} cases, {failed} failed, {size:.0f} kB, {seconds:.0f} s of CPU", flush=True)
    return failed


def _compare(chosen: list[str], only: str, every: bool) -> int:
    """Print the table, then the differences."""
    details: list[tuple[str, Outcome]] = []
    print(f"{'part':<17}{'group':<29}{'cases':>6}{'worst':>9}{'differ':>8}{'CPU s':>8}")
    print("-" * WIDTH)
    for part in chosen:
        archive = Archive(part)
        if not archive.path.exists():
            print(f"{part:<17}nothing is frozen: python -m corpus record {part}")
            continue
        rows: dict[str, list] = {}
        seen = []
        for case in _cases(part, archive):
            seen.append(case.name)
            if not fnmatch.fnmatch(case.name, only):
                continue
            start = time.process_time()
            outcome = _outcome(case, archive)
            row = rows.setdefault(case.group, [0, 0.0, 0, 0.0])
            row[0] += 1
            row[1] = max(row[1], outcome.worst)
            row[2] += bool(outcome.problems)
            row[3] += time.process_time() - start
            if outcome.problems or outcome.remarks:
                details.append((f"{part}: {case.name}", outcome))
        for name in archive.names():
            if name not in seen and fnmatch.fnmatch(name, only) and part not in parts.NEEDS_DATA:
                details.append((f"{part}: {name}", Outcome(problems=["is frozen, but is no case any more"])))
                rows.setdefault(name.partition("/")[0], [0, 0.0, 0, 0.0])[2] += 1
        for group, (n, worst, differ, seconds) in rows.items():
            print(f"{part:<17}{group[:28]:<29}{n:>6}{worst:>9.1e}{differ:>8}{seconds:>8.1f}", flush=True)
    _tell(details, every)
    differ = sum(bool(outcome.problems) for _, outcome in details)
    print(f"\ncases that differ: {differ}" if differ else "\nnothing differs")
    return int(differ > 0)


def _outcome(case: Case, archive: Archive) -> Outcome:
    old = archive.values(case.name)
    try:
        new = case.values()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
        return Outcome(float("inf"), [f"fails: {type(error).__name__}: {error} ({place})"])
    return case.rule(case, old, new) if old else Outcome(remarks=["is not frozen yet"])


def _tell(details: list[tuple[str, Outcome]], every: bool) -> None:
    most = sys.maxsize if every else 6
    for name, outcome in details:
        print(f"\n{name}{'' if outcome.problems else ' (allowed)'}")
        lines = [*outcome.problems, *(f"allowed: {line}" for line in outcome.remarks)]
        for line in lines[:most]:
            print(f"  {line}")
        if len(lines) > most:
            print(f"  and {len(lines) - most} more: --all")


if __name__ == "__main__":
    sys.exit(main())
