"""Checks of solutions: errors of poses, limits, repetition, singular solutions, and the statuses that follow."""
