"""Frozen answers: what the library said before it was cut, and a script that compares what it says now.

See README.md in this folder.
"""
