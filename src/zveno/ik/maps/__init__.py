"""Inverse kinematics over a grid of positions: the reachable workspace."""
