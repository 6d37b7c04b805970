"""The studio: a robot, its solutions, motions and errors in the browser, served to this machine alone."""
