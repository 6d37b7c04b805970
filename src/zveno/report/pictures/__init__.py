"""Pictures of mechanisms, motions and results; matplotlib is imported only where something is drawn."""
