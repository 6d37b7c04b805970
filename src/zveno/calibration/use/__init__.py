"""The calibrated robot in use: files, compensation and accuracy."""
