"""Closed-form inverse kinematics in one compiled program: from a pose to sorted solutions and a verdict."""
