"""Which parameters a kind of measurement can determine, by sampled Jacobians, formulas and proof."""
