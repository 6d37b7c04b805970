"""Six revolute joints: elimination to one polynomial of one angle, its roots, and back."""
