"""Chains as Denavit and Hartenberg tables and as mechanisms, for document 000's own procedure."""

from __future__ import annotations

import numpy as np

from zveno.base_parameters._views import PAIRS
from zveno.documents.base_parameters import Row
from zveno.mechanism import Joint, Link, Mechanism, Prismatic, Revolute, assemble
from zveno.mechanism.edit import with_inertia
from zveno.spatial import inertia
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

TABLE = [Row(1, 0.0, np.radians(alpha), a, d) for alpha, a, d in ((-90, 0, 0), (0, 0.4318, 0.15), (90, -0.0203, 0))]
MIXED = [Row(1, 0.0, 0.7, 0.3, 0.1), Row(0, 0.4, -1.1, 0.2, 0.0), Row(1, 0.0, 0.3, 0.1, 0.2)]
GRAVITY = (0.0, 0.0, -9.81)


def distal(table):
    """The chain with its link frames where Denavit and Hartenberg put them."""
    links = [Link("link0")] + [Link(f"link{k}", np.ones(10)) for k in range(1, len(table) + 1)]
    joints = []
    for k, row in enumerate(table, 1):
        turn = transform(elementary("z", 0.0 if row.sigma else row.theta))
        lift = transform(None, np.array([row.a, 0.0, row.d if row.sigma else 0.0]))
        child = turn @ lift @ transform(elementary("x", row.alpha))
        kind = Revolute() if row.sigma else Prismatic()
        joints.append(Joint(f"q{k}", f"link{k - 1}", f"link{k}", kind, np.eye(4), child))
    return assemble("distal", links, joints)


def with_random_bodies(table) -> tuple[Mechanism, np.ndarray]:
    """The chain with bodies of six mass points each, and their pseudo-inertias p (10 N,)."""
    rng = np.random.default_rng(0)
    points = [np.concatenate([rng.normal(size=(6, 3)), np.ones((6, 1))], axis=1) for _ in table]
    H = [one.T @ one for one in points]
    p = np.concatenate([[one[i, j] for i, j in PAIRS] for one in H])
    links = {f"link{k}": inertia.from_pseudo_inertia(one) for k, one in enumerate(H, 1)}
    return with_inertia(distal(table), links), p
