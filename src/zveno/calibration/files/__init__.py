"""Measurement files: meaning of their columns, headers and folders."""
