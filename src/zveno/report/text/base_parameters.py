"""Base parameters as a table for people."""

from __future__ import annotations

from rich.console import Console

from ...base_parameters.result import BaseParameters


def print_base_parameters(console: Console, base: BaseParameters, degrees: bool = False) -> None:
    """Every base parameter, written in link parameters."""
    console.print(base.table())
