"""Base inertial parameters."""
