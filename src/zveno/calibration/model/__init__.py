"""Geometric model for calibration: a product of elementary transforms, its kinematics and joint terms."""
