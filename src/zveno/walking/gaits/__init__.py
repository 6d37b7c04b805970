"""Gaits: motion of the centre of mass and the feet of a legged robot, step by step, from measurements."""
