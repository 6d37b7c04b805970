"""Interactive browser view of robots, solutions, motions and errors, served to this machine only."""
