"""Identification: from recorded motions and torques to the robot's inertia, friction and drives."""
