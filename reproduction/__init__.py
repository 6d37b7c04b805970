"""Numbers that the source documents print, beside what the library finds."""
