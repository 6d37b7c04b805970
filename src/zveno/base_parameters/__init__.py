"""Base inertial parameters: what decides a robot's dynamics, derived from its structure.

The function of the same name is `zveno.base_parameters`; this file imports nothing, so that the package is cheap.
"""
