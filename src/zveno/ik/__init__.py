"""Inverse kinematics: all solutions of any chain, by document 004's scan in functions of numbers and faster routes."""
