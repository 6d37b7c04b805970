"""Least squares, robust weights and covariance for parameter fits."""
