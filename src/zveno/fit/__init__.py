"""Least squares, robust losses and covariance shared by tasks that fit parameters."""
