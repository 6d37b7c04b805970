"""Faults of a recording that torques show, each with its own test."""
