"""Base parameters: what decides the dynamics, what it is made of, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algorithms.regressor import DRIVE_PARAMETER_NAMES, parameter_vector
from ..errors import ShapeError
from ..io.results import Result, registered
from ..mechanism import Mechanism
from .views import view_named


@registered
@dataclass(frozen=True, eq=False)
class Group:
    """Links whose base parameters are found together: one link, unless massless links, mimic joints or loops tie more.

    Attributes:
        bodies: link numbers.
        parent: link number that what is left of the parameters is passed to; 0 is the ground.
        pivots: (r,) base columns among the group's 10 n, in the view's order.
        Y: (r, 10 n) grouping, the identity on the pivots.
        X: (r, drive columns) what of the drives adds to each.
        K: (n, 10, 10) from each link's parameters to the parent's, at the reference configuration.
        kept, dropped: smallest singular value counted and largest not counted; lengths and gravity are of size 1.
    """

    bodies: tuple[int, ...]
    parent: int
    pivots: np.ndarray
    Y: np.ndarray
    X: np.ndarray
    K: np.ndarray
    kept: float
    dropped: float


@registered
@dataclass(frozen=True, eq=False)
class BaseParameters(Result):
    """The base parameters p̃ = Y p of a mechanism.

    p are the ten parameters of links 1 … N in the order of `robot.regressor`'s columns, followed, where drives are
    counted, by the 4 n_v parameters of `robot.drive_regressor`. Torques are W[:, columns] p̃.
    """

    kind = "base parameters"

    mechanism: Mechanism
    view: str
    groups: tuple[Group, ...]
    kinds: tuple[str, ...]
    drive_columns: np.ndarray
    drive_pivots: np.ndarray
    drive_grouping: np.ndarray
    friction_columns: np.ndarray
    massless: tuple[str, ...]
    certified: bool
    notes: tuple[str, ...]
    inputs: str

    # --- what it is

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def n_parameters(self) -> int:
        """Length of p."""
        return 10 * len(self.mechanism.joints) + (4 * self.mechanism.n_v if self.kinds else 0)

    @cached_property
    def columns(self) -> np.ndarray:
        """(rank,) places of the base parameters among p, in ascending order link by link."""
        places = [self._places(group)[group.pivots] for group in self.groups]
        first = 10 * len(self.mechanism.joints)
        drive = first + np.concatenate([self.drive_columns[self.drive_pivots], self.friction_columns])
        return np.concatenate([np.zeros(0, dtype=int), *places, np.sort(drive)]).astype(int)

    def _places(self, group: Group) -> np.ndarray:
        """Where a group's 10 n parameters stand in p."""
        order = view_named(self.view).columns or tuple(range(10))
        return np.concatenate([10 * (i - 1) + np.array(order) for i in group.bodies] + [np.zeros(0, dtype=int)])

    # --- as an operator

    def project(self, parameters) -> np.ndarray:
        """p̃ = Y p, (..., rank), from p (..., n_parameters), link by link in O(N)."""
        p = self._checked(parameters)
        drive = np.moveaxis(p[..., 10 * len(self.mechanism.joints) :], -1, 0)
        d = drive[self.drive_columns] if self.kinds else np.zeros((0, *p.shape[:-1]))
        kept = np.tensordot(self.drive_grouping, d, 1)
        left = d.copy()
        left[self.drive_pivots] -= kept
        p = np.moveaxis(p, -1, 0)
        carried: dict[int, np.ndarray] = {}
        found = []
        for group in reversed(self.groups):
            places = self._places(group)
            h = p[places].astype(float)
            for n, i in enumerate(group.bodies):
                if i in carried:
                    h[10 * n : 10 * n + 10] += carried.pop(i)
            base = np.tensordot(group.Y, h, 1) + np.tensordot(group.X, left[: group.X.shape[1]], 1)
            found.append(base)
            h[group.pivots] -= base
            if group.parent:
                up = sum(np.tensordot(K, h[10 * n : 10 * n + 10], 1) for n, K in enumerate(group.K))
                carried[group.parent] = carried.get(group.parent, 0.0) + up
        extra = np.concatenate([self.drive_columns[self.drive_pivots], self.friction_columns]).astype(int)
        values = np.concatenate([kept, drive[self.friction_columns] if self.kinds else kept[:0]])
        found = [*reversed(found), values[np.argsort(extra)]]
        return np.moveaxis(np.concatenate(found), 0, -1)

    def lift(self, base, prior=None) -> np.ndarray:
        """Parameters p (..., n_parameters) with the base parameters `base`, the others as in `prior` (or zero)."""
        base = np.asarray(base, dtype=float)
        if base.shape[-1:] != (self.rank,):
            raise ShapeError(f"has shape {base.shape}", element="base", remedy=f"Give (..., {self.rank})")
        if prior is None:
            p = np.zeros((*base.shape[:-1], self.n_parameters))
            p[..., self.columns] = base
            return p
        p = np.array(np.broadcast_to(self._checked(prior), (*base.shape[:-1], self.n_parameters)))
        p[..., self.columns] += base - self.project(p)
        return p

    @cached_property
    def matrix(self) -> np.ndarray:
        """Y (rank, n_parameters), written out; the identity on `columns`."""
        Y = self.project(np.eye(self.n_parameters)).T
        Y[:, self.columns] = np.eye(self.rank)
        return Y

    def _checked(self, parameters) -> np.ndarray:
        p = np.asarray(parameters, dtype=float)
        if p.shape[-1:] != (self.n_parameters,):
            raise ShapeError(
                f"has shape {p.shape}", element="parameters", remedy=f"Give (..., {self.n_parameters})"
            )
        return p
