"""Electrohydraulic servo drives: valve, cylinder, lever, shared supply (document 003's machine has them)."""
