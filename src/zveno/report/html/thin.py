"""Long records with fewer samples, so that a page stays small enough to be sent by mail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .blocks import Block

LEAST_SAMPLES = 400
"""A record is not thinned below about this many."""


def longest_record(blocks: Sequence[Block]) -> int:
    """Samples of the longest record."""
    return max((len(block.data["t"]) for block in blocks if block.kind == "log"), default=0)


def thinned(block: Block, most: int) -> Block:
    """A record with no more samples than `most`, evenly chosen, which its note says; other blocks as they are."""
    if block.kind != "log" or len(block.data["t"]) <= most:
        return block
    every = -(-len(block.data["t"]) // most)
    series = [_every(each, every) for each in block.data["series"]]
    note = f"One sample of {every} is shown. {block.note}".rstrip()
    return replace(block, data={**block.data, "t": block.data["t"][::every], "series": series}, note=note)


def _every(series: dict[str, Any], every: int) -> dict[str, Any]:
    return {key: value[::every] if isinstance(value, list) else value for key, value in series.items()}
