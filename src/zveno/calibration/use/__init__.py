"""Use of the calibrated robot: files, compensation and accuracy."""
