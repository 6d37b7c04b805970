"""Textbook recursions over the tree, in plain NumPy, one state at a time.

Every function takes a `Mechanism` and one state: q (n_q,), v (n_v,), … as float, complex or traced arrays.
Batches are computed by the kernels compiled from them.
"""
