"""Document 004, inverse kinematics by scanning in functions of numbers."""
