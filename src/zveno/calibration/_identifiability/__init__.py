"""Identifiability of parameters by a kind of measurement, from sampled Jacobians, formulas and proof."""
