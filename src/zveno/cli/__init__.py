"""The command line: `zveno VERB ROBOT …`. It parses, calls the library and prints; nothing is computed here."""

from .app import main as main
