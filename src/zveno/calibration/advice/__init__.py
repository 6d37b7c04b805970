"""Interpretation of a fit, and diagnosis of the data."""
