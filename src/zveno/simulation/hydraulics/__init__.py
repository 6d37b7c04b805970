"""Electrohydraulic servo drives: valve, cylinder, lever, shared supply (used in document 003's robot)."""
