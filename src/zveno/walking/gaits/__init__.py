"""Gaits: how a walking machine moves its centre of mass and its feet, step by step, from what it measures."""
