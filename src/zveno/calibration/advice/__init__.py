"""What a fit means, what may be wrong with the data, and what to measure next."""
