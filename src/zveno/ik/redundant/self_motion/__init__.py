"""Self-motions of seven revolute joints: every curve of solutions, from end to end, and why none is missing."""
