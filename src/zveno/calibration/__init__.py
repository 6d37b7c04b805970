"""Geometric calibration: models of elementary transforms, identifiability, measurements, estimation, accuracy."""
