"""Inverse kinematics over many poses at once: what can be reached, and files of all solutions."""
