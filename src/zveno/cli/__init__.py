"""Command line `zveno COMMAND ROBOT …`: parses arguments, calls the library and prints the result."""

from .app import main as main
