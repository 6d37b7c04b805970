"""Results and mechanisms as plain data, and as tables for people."""
