"""Streaming inverse kinematics: one joint step for every pose of a control loop."""
