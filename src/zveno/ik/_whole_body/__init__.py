"""Inverse kinematics of whole bodies: several frames, the centre of mass and the posture of a tree at once."""
