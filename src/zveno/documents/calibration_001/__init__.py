"""Document 001, complete and irreducible kinematic models and their calibration."""
