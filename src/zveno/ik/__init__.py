"""Inverse kinematics: all solutions of any chain, by scanning in functions of numbers and faster routes."""
