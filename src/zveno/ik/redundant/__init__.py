"""Redundant arms: continua of solutions cut into slices, followed as curves, or sampled on grids."""
