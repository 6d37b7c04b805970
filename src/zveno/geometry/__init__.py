"""Shapes, grounds, distances and bounding capsules: one geometry for contacts and clearances."""
