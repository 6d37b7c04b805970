"""Vectors, rotations, rigid transforms and inertia of a single body."""
