"""Exciting trajectories: motions whose torques determine the inertial parameters best."""
