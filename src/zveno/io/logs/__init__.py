"""Recordings of a robot's motion: time, joint positions, velocities where there are any, and torques."""
