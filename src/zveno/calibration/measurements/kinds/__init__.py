"""Kinds of measurement, one file each. A new kind is a new file here; no other module needs a change."""
