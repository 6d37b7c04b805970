"""Base parameters: what decides the dynamics, what it is made of, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, unknown_name
from ..io.files import write_text
from ..io.results import Result, registered
from ..mechanism import Loop, Mechanism
from ..spatial.inertia import pseudo_inertia
from . import expressions, printing
from .drives import drive_names, drive_vector, n_drive_parameters
from .views import PAIRS, view_named


@registered
@dataclass(frozen=True, eq=False)
class Group:
    """Links whose base parameters are found together: one, unless massless links, mimic joints or loops tie more.

    Attributes:
        bodies: link numbers.
        parent: link number that what is left of the parameters is passed to; 0 is the ground.
        pivots: (r,) base columns among the group's 10 n, in the view's order.
        Y: (r, 10 n) grouping, the identity on the pivots.
        X: (r, drive columns) what of the drives adds to each.
        K: (n, 10, 10) from each link's parameters to the parent's, at the reference configuration.
        kept, dropped: smallest singular value counted and largest not counted; lengths and gravity are of size 1.
        exact_Y, exact_K, exact_X: Y, K and X in exact numbers, as texts, where they are known exactly.
    """

    bodies: tuple[int, ...]
    parent: int
    pivots: np.ndarray
    Y: np.ndarray
    X: np.ndarray
    K: np.ndarray
    kept: float
    dropped: float
    exact_Y: tuple[tuple[str, ...], ...] | None = None
    exact_K: tuple[tuple[tuple[str, ...], ...], ...] | None = None
    exact_X: tuple[tuple[str, ...], ...] | None = None


@registered
@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(Result):
    """The base parameters p̃ = Y p of a mechanism.

    p are the ten parameters of links 1 … N in the order of `robot.regressor`'s columns (in the pseudo-inertia view:
    xx yy zz xy xz yz Sx Sy Sz m of each link), followed, where drives are counted, by the 4 n_v parameters of
    `robot.drive_regressor` (and by those of `coupling_regressor`, where couplings are). Torques are W[:, columns] p̃
    with W = [regressor, drive_regressor].

    Attributes:
        mechanism: the mechanism, with the gravity that was assumed.
        view: how a link's parameters are counted: "inertia", "pseudo" or "center".
        groups: the grouping link by link: Y as a product of small matrices.
        kinds: kinds of drive parameters that are counted.
        drive_columns, drive_pivots, drive_grouping: columns of the drive regressor that may merge (rotors and
            offsets), which of them are base parameters, and how they group.
        friction_columns: columns of the drive regressor that are base parameters by themselves.
        massless: names of the links without parameters.
        loops, q0: what closes the mechanism, and the branch.
        length: m; lengths are divided by it where a rank is decided.
        certified: whether rank, columns and expressions were derived in exact arithmetic.
        why_not_certified: what stood in the way.
        notes: what deserves a second look, such as near-degenerate geometry.
        inputs: hash of what it was computed from.
        exact_drive_grouping: `drive_grouping` in exact numbers, as texts, where it is known exactly.
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
    loops: tuple[Loop, ...]
    q0: np.ndarray | None
    length: float
    certified: bool
    why_not_certified: str
    notes: tuple[str, ...]
    inputs: str
    exact_drive_grouping: tuple[tuple[str, ...], ...] | None = None

    # --- what it is

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def n_parameters(self) -> int:
        """Length of p."""
        return 10 * len(self.mechanism.joints) + n_drive_parameters(self.mechanism, self.kinds)

    @cached_property
    def columns(self) -> np.ndarray:
        """(rank,) places of the base parameters in p, link by link."""
        places = [self.places(group)[group.pivots] for group in self.groups]
        return np.concatenate([np.zeros(0, dtype=int), *places, self._drive_places]).astype(int)

    @property
    def regressor_columns(self) -> np.ndarray:
        """`columns`, for indexing `robot.regressor` (with `robot.drive_regressor` behind it where drives count)."""
        if view_named(self.view).columns is None:
            raise ModelError(
                "the pseudo-inertia's parameters are not columns of the regressor",
                remedy='Use .viewed("inertia"), which has the same rank',
            )
        return self.columns

    @cached_property
    def _drive_places(self) -> np.ndarray:
        first = 10 * len(self.mechanism.joints)
        return first + np.sort(np.concatenate([self.drive_columns[self.drive_pivots], self.friction_columns]))

    def places(self, group: Group) -> np.ndarray:
        """Where a group's 10 n parameters stand in p."""
        order = np.array(view_named(self.view).columns or range(10))
        return np.concatenate([np.zeros(0, dtype=int), *(10 * (i - 1) + order for i in group.bodies)])

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Symbols of all of p: `I3zz`, `h4y` (`S4y`), `m4`, `Ia3`; the number is the link's."""
        return printing.parameter_names(self.mechanism, self.view) + drive_names(self.mechanism, self.kinds)

    @cached_property
    def terms(self) -> list[expressions.Terms]:
        """Every base parameter as place in p → coefficient, exact numbers where certified."""
        return expressions.expanded(self)

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """Every base parameter as a sum of link parameters, `I3zz + I4yy − 0.8662·h4y + 0.18758·(m4 + m5 + m6)`."""
        pairs = zip(self.columns.tolist(), self.terms, strict=True)
        return tuple(expressions.sentence(self, place, terms) for place, terms in pairs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The base column's symbol, with a star where it stands for a combination."""
        return tuple(
            self.parameter_names[place] + ("" if len(terms) == 1 else "*")
            for place, terms in zip(self.columns, self.terms, strict=True)
        )

    @property
    def alone(self) -> tuple[str, ...]:
        """Parameters that can be identified by themselves."""
        return tuple(self.parameter_names[next(iter(terms))] for terms in self.terms if len(terms) == 1)

    @property
    def combined(self) -> tuple[str, ...]:
        """Parameters that affect the motion only in combination with others."""
        seen = {place for terms in self.terms if len(terms) > 1 for place in terms}
        return tuple(self.parameter_names[place] for place in sorted(seen))

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that do not affect the motion at all."""
        seen = {place for terms in self.terms for place in terms}
        return tuple(self.parameter_names[place] for place in self.counted if place not in seen)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Places in p of the parameters that exist: not those of massless links, nor drive kinds left out."""
        links = [int(place) for group in self.groups for place in self.places(group)]
        first = 10 * len(self.mechanism.joints)
        drive = [first + int(k) for k in (*self.drive_columns, *self.friction_columns)]
        return tuple(sorted(links) + sorted(drive))

    # --- how sure it is

    @property
    def gap(self) -> tuple[float, float]:
        """Smallest singular value counted over all links, and largest not counted."""
        return (
            min((group.kept for group in self.groups), default=np.inf),
            max((group.dropped for group in self.groups), default=0.0),
        )

    @property
    def gaps(self) -> dict[str, tuple[float, float]]:
        """The same link by link."""
        names = self.mechanism.link_names
        return {", ".join(names[i] for i in group.bodies): (group.kept, group.dropped) for group in self.groups}

    @property
    def status(self) -> str:
        """ "certified", "clear" (a gap of many orders) or "near-degenerate"."""
        if self.notes:
            return "near-degenerate"
        return "certified" if self.certified else "clear"

    @property
    def summary(self) -> str:
        """One sentence."""
        return printing.summary(self)

    # --- as an operator

    def project(self, parameters: ArrayLike) -> np.ndarray:
        """p̃ = Y p, (..., rank), from p (..., n_parameters), link by link in O(N)."""
        p = np.moveaxis(self._checked(parameters), -1, 0)
        drive = p[10 * len(self.mechanism.joints) :]
        d = drive[self.drive_columns] if self.kinds else drive[:0]
        kept = np.tensordot(self.drive_grouping, d, 1)
        left = d.copy()
        left[self.drive_pivots] -= kept
        carried: dict[int, Any] = {}
        group_values = []
        for group in reversed(self.groups):
            h = p[self.places(group)]
            for n, i in enumerate(group.bodies):
                if i in carried:
                    h[10 * n : 10 * n + 10] += carried.pop(i)
            base = np.tensordot(group.Y, h, 1) + np.tensordot(group.X, left[: group.X.shape[1]], 1)
            group_values.append(base)
            h[group.pivots] -= base
            if group.parent:
                up = sum(np.tensordot(K, h[10 * n : 10 * n + 10], 1) for n, K in enumerate(group.K))
                carried[group.parent] = carried.get(group.parent, 0.0) + up
        order = np.argsort(np.concatenate([self.drive_columns[self.drive_pivots], self.friction_columns]))
        values = np.concatenate([kept, drive[self.friction_columns]])[order]
        return np.moveaxis(np.concatenate([*reversed(group_values), values]), 0, -1)

    @property
    def model_parameters(self) -> np.ndarray:
        """(n_parameters,) p of the mechanism itself, in the result's view."""
        links = [link.inertia for link in self.mechanism.links[1:]]
        if self.view == "pseudo":
            links = [[pseudo_inertia(inertia)[i, j] for i, j in PAIRS] for inertia in links]
        p = np.zeros(self.n_parameters)
        p[: 10 * len(links)] = np.array(links, dtype=float).ravel()
        drives = drive_vector(self.mechanism) if self.kinds else np.zeros(0)
        p[10 * len(links) : 10 * len(links) + len(drives)] = drives
        return p

    @property
    def values(self) -> np.ndarray:
        """(rank,) base parameters of the mechanism itself."""
        return self.project(self.model_parameters)

    def lift(self, base: ArrayLike, prior: ArrayLike | None = None) -> np.ndarray:
        """Parameters p (..., n_parameters) with the base parameters `base`, the others as in `prior` (or zero)."""
        base = np.asarray(base, dtype=float)
        if base.shape[-1:] != (self.rank,):
            raise ShapeError(f"has shape {base.shape}", element="base", remedy=f"Give (..., {self.rank})")
        p = np.zeros(self.n_parameters) if prior is None else self._checked(prior)
        p = np.array(np.broadcast_to(p, np.broadcast_shapes(p.shape[:-1], base.shape[:-1]) + p.shape[-1:]))
        p[..., self.columns] += base - self.project(p)
        return p

    @cached_property
    def operator(self) -> Any:
        """Y as a SciPy operator that is never written out; `operator @ p` is `project(p)`."""
        from scipy.sparse.linalg import LinearOperator

        shape = (self.rank, self.n_parameters)
        return LinearOperator(shape, matvec=lambda p: self.project(p.ravel()), dtype=float)  # type: ignore[call-arg]  (stubs)

    @cached_property
    def matrix(self) -> np.ndarray:
        """Y (rank, n_parameters) written out; the identity on `columns`."""
        Y = np.zeros((self.rank, self.n_parameters))
        if self.rank:
            Y[:] = self.project(np.eye(self.n_parameters)).T
            Y[:, self.columns] = np.eye(self.rank)
        return Y

    @property
    def null_directions(self) -> np.ndarray:
        """(n_parameters, n) changes of p that no torque can see, one for each counted one that is not base."""
        base = set(self.columns.tolist())
        others = [place for place in self.counted if place not in base]
        N = np.zeros((self.n_parameters, len(others)))
        N[others, range(len(others))] = 1.0
        N[self.columns] -= self.matrix[:, others]
        return N

    def viewed(self, view: str) -> BaseParameters:
        """The same analysis with the links' parameters counted in another view."""
        from .analyse import base_parameters

        return base_parameters(
            self.mechanism,
            drives=self.kinds,
            view=view,
            massless=self.massless,
            loops=self.loops,
            start=self.q0,
            exact=None if self.certified else False,
        )

    # --- for people

    def table(self) -> Any:
        """A rich table of all base parameters."""
        return printing.table(self)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return printing.markdown(self)

    def to_latex(self) -> str:
        """The expressions as LaTeX."""
        return printing.latex(self)

    def to_csv(self) -> str:
        """Number, name, link, expression."""
        return printing.csv_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, with the names and expressions beside the matrices."""
        return super().to_dict() | {"table": printing.records(self), "summary": self.summary}

    def write_table(self, path: str | PathLike[str], format: str = "md") -> Path:
        """The table written to a file as "md", "latex" or "csv"."""
        writers = {"md": self.to_markdown, "latex": self.to_latex, "csv": self.to_csv}
        if format not in writers:
            raise unknown_name("format", format, writers)
        return write_text(path, writers[format]())

    def _checked(self, parameters) -> np.ndarray:
        p = np.asarray(parameters, dtype=float)
        if p.shape[-1:] != (self.n_parameters,):
            raise ShapeError(
                f"has shape {p.shape}", element="parameters", remedy=f"Give (..., {self.n_parameters})"
            )
        return p
