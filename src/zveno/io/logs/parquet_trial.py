"""Run as a process of its own: reads all numbers of a Parquet file, since a damaged one can end the process.

    python parquet_trial.py FILE ROWS

ROWS are read at once. Ends with 0 if the file can be read, otherwise with a line that says why.
"""

import sys


def main(path: str, rows: int) -> None:
    """Read the file to its end."""
    import polars

    source = polars.scan_parquet(path, glob=False)
    kinds = polars.selectors.numeric() | polars.selectors.temporal()
    total = int(source.select(polars.len()).collect().item())
    for first in range(0, total, rows):
        source.slice(first, rows).select(kinds).collect()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
