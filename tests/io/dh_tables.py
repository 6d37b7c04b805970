"""Pieces of Denavit–Hartenberg tables that tests share."""

TOP = 'convention = "standard"\nunit = "mm"\nangle = "deg"\n'
ROW = "[[joint]]\nalpha = -90\na = 10\nd = 20\n"
