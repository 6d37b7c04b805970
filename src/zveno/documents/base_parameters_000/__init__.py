"""Document 000, base inertial parameters by the method of projections."""
