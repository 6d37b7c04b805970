"""Exciting trajectories: motions whose torques tell most about the inertial parameters."""
