"""How complete the types of the package are: the share of its public symbols that pyright knows the type of.

Run by `make check`; `python .ci/type_completeness.py --list` names what is missing, by file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LEAST = 0.81
"""Share that must be reached."""


def report() -> dict:
    """What `pyright --verifytypes` says about the installed package."""
    binaries = Path(sys.executable).parent  # pyright takes the first Python on the path
    environment = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    command = [str(binaries / "pyright"), "--verifytypes", "zveno", "--ignoreexternal", "--outputjson"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return json.loads(run.stdout)["typeCompleteness"]


def main(listed: bool) -> int:
    """Print the score; 1 if it is too low."""
    found = report()
    if not found["moduleRootDirectory"]:
        print("pyright does not find the package: install it with pip install --editable .")
        return 1
    if listed:
        for symbol in found["symbols"]:
            for problem in symbol["diagnostics"] if symbol["isExported"] and not symbol["isTypeKnown"] else ():
                print(f"{symbol['name']}: {' '.join(problem['message'].split())}")
    score, counts = found["completenessScore"], found["exportedSymbolCounts"]
    print(
        f"types known of {score:.1%} of {sum(counts.values())} public symbols, at least {LEAST:.0%} are asked for"
    )
    return int(score < LEAST)


if __name__ == "__main__":
    sys.exit(main("--list" in sys.argv[1:]))
