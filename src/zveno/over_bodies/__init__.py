"""Functions of a tree as loops over its bodies: the recursions of `algorithms` as structured programs.

Their code does not grow with the number of bodies, and all trees of the same joint types share it.
"""
