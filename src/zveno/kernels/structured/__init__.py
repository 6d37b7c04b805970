"""Programs with loops: straight-line programs inside bounded loops over rows of arrays.

`build` writes one, `evaluate` runs it with NumPy, `lower` makes vector code of it, `kernel` compiles it.
"""
