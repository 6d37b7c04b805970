"""Weighted least squares for parameters, nuisance parameters, noise and prior scales."""
