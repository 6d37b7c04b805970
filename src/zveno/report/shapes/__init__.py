"""Robots as shapes in the frames of their links, the same for pictures, reports and the studio."""
