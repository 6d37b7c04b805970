"""One body: vectors, rotations, rigid transforms and inertia."""
