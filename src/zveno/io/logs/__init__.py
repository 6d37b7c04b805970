"""Logs of a robot's motion: time, joint positions, velocities if recorded, and torques."""
