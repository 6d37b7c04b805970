"""Measurement files: what their columns, headers and folders mean."""
