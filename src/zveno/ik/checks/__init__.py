"""Checks of solutions: errors of poses, limits, repetition, singular solutions, and the resulting statuses."""
