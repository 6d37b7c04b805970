"""Result of the base-parameter analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, unknown_name
from ..io.files import write_text
from ..io.results import registered
from ..kernels.kernel import Kernel
from ..mechanism import Loop, Mechanism
from ..mechanism.loops import refuse_loops
from ..report.description import Description
from ..report.result import Result
from ..spatial.inertia import pseudo_inertia
from ._describe import Terms, csv_text, expanded, latex, markdown, parameter_names, records, sentence, summary
from ._views import PAIRS, view_named
from .drives import drive_names, drive_vector, n_drive_parameters


@registered
@dataclass(frozen=True, eq=False)
class Group:
    """Links whose base parameters are found together: one link, or several with massless links, mimics or loops.

    Attributes:
        bodies: link numbers.
        parent: number of the link that receives the remaining parameters; 0 is the ground.
        pivots: (r,) base columns among the group's 10 n, in the view's order.
        Y: (r, 10 n) grouping matrix, the identity on the pivots.
        X: (r, drive columns) contributions of the drives to each base parameter.
        K: (n, 10, 10) maps from each link's parameters to the parent's, at the reference configuration.
        kept, dropped: smallest singular value that counts and largest one that does not, with lengths and gravity
            scaled to 1.
        exact_Y, exact_K, exact_X: Y, K and X in exact numbers, as text, if known.
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


BaseStatus = Literal["certified", "clear", "near-degenerate"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(Result):
    """Base parameters p̃ = Y p of a mechanism.

    p are the ten parameters of links 1 … N in the order of `robot.regressor`'s columns (in the pseudo-inertia view:
    xx yy zz xy xz yz Sx Sy Sz m of each link). If drives are counted, the 4 n_v parameters of
    `robot.kernel("drive_regressor")` follow; if couplings are counted, those of `coupling_regressor` too. Torques
    are W[:, columns] p̃ with W = [regressor, drive_regressor].

    Attributes:
        mechanism: the mechanism, with the gravity of the analysis.
        view: choice of the link parameters: "inertia", "pseudo" or "center".
        groups: grouping per link: Y as a product of small matrices.
        kinds: types of drive parameters that are counted.
        drive_columns, drive_pivots, drive_grouping: columns of the drive regressor that may merge (rotors and
            offsets), those of them that are base parameters, and their grouping matrix.
        friction_columns: columns of the drive regressor that are base parameters by themselves.
        massless: names of the links without parameters.
        loops, q0: closed loops and a state on their branch.
        length: reference length for rank decisions, m.
        certified: True if rank, columns and expressions were derived in exact arithmetic.
        why_not_certified: reason why the result is not certified.
        notes: remarks, for example on near-degenerate geometry.
        inputs_hash: hash of the inputs.
        exact_drive_grouping: `drive_grouping` in exact numbers, as text, if known.
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
    inputs_hash: str
    exact_drive_grouping: tuple[tuple[str, ...], ...] | None = None

    # --- parameters

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
        """Indices of the base parameters in p, (rank,), link by link."""
        places = [self.places(group)[group.pivots] for group in self.groups]
        return np.concatenate([np.zeros(0, dtype=int), *places, self._drive_places]).astype(int)

    @property
    def regressor_columns(self) -> np.ndarray:
        """Column indices into `robot.regressor`, followed by those of the drive regressor if drives are counted."""
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
        """Indices of a group's 10 n parameters in p."""
        order = np.array(view_named(self.view).columns or range(10))
        return np.concatenate([np.zeros(0, dtype=int), *(10 * (i - 1) + order for i in group.bodies)])

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Symbols of all parameters in p: `I3zz`, `h4y` (`S4y`), `m4`, `Ia3`; the number is that of the link."""
        return parameter_names(self.mechanism, self.view) + drive_names(self.mechanism, self.kinds)

    @cached_property
    def terms(self) -> list[Terms]:
        """Coefficients by index in p for every base parameter; exact numbers if certified."""
        return expanded(self)

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """Base parameters as sums of link parameters, `I3zz + I4yy − 0.8662·h4y + 0.18758·(m4 + m5 + m6)`."""
        pairs = zip(self.columns.tolist(), self.terms, strict=True)
        return tuple(sentence(self, place, terms) for place, terms in pairs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Symbols of the base columns, with a star for combinations."""
        return tuple(
            self.parameter_names[place] + ("" if len(terms) == 1 else "*")
            for place, terms in zip(self.columns, self.terms, strict=True)
        )

    @property
    def alone(self) -> tuple[str, ...]:
        """Names of parameters that can be identified individually."""
        return tuple(self.parameter_names[next(iter(terms))] for terms in self.terms if len(terms) == 1)

    @property
    def combined(self) -> tuple[str, ...]:
        """Names of parameters that affect the motion only in combination with others."""
        seen = {place for terms in self.terms if len(terms) > 1 for place in terms}
        return tuple(self.parameter_names[place] for place in sorted(seen))

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of parameters that do not affect the motion."""
        seen = {place for terms in self.terms for place in terms}
        return tuple(self.parameter_names[place] for place in self.counted if place not in seen)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Indices in p of the counted parameters, without massless links and omitted drive parameters."""
        links = [int(place) for group in self.groups for place in self.places(group)]
        first = 10 * len(self.mechanism.joints)
        drive = [first + int(k) for k in (*self.drive_columns, *self.friction_columns)]
        return tuple(sorted(links) + sorted(drive))

    # --- certainty

    @property
    def gap(self) -> tuple[float, float]:
        """Smallest singular value that counts over all links, and largest one that does not."""
        return (
            min((group.kept for group in self.groups), default=np.inf),
            max((group.dropped for group in self.groups), default=0.0),
        )

    @property
    def gaps(self) -> dict[str, tuple[float, float]]:
        """Singular-value gaps per group of links."""
        names = self.mechanism.link_names
        return {", ".join(names[i] for i in group.bodies): (group.kept, group.dropped) for group in self.groups}

    @property
    def status(self) -> BaseStatus:
        """Status: "certified", "clear" (a gap of many orders) or "near-degenerate"."""
        if self.notes:
            return "near-degenerate"
        return "certified" if self.certified else "clear"

    @property
    def summary(self) -> str:
        """Summary in one sentence."""
        return summary(self)

    # --- as an operator

    def project(self, parameters: ArrayLike) -> np.ndarray:
        """Compute p̃ = Y p, (..., rank), from p (..., n_parameters), link by link in O(N)."""
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
        """Parameters p (n_parameters,) of the mechanism in the view of the result."""
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
        """Base parameters of the mechanism, (rank,)."""
        return self.project(self.model_parameters)

    def lift(self, base: ArrayLike, prior: ArrayLike | None = None) -> np.ndarray:
        """Find parameters p (..., n_parameters) with the given base parameters, others as in `prior` (or zero)."""
        base = np.asarray(base, dtype=float)
        if base.shape[-1:] != (self.rank,):
            raise ShapeError(f"must have shape (..., {self.rank}), got {base.shape}", element="base")
        p = np.zeros(self.n_parameters) if prior is None else self._checked(prior)
        p = np.array(np.broadcast_to(p, np.broadcast_shapes(p.shape[:-1], base.shape[:-1]) + p.shape[-1:]))
        p[..., self.columns] += base - self.project(p)
        return p

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the base regressor W (..., n_v, rank): joint torques are W p̃, with the drives that were counted.

        Args:
            q, v, a: (..., n_q), (..., n_v), (..., n_v).
            out: array to write the result to.
        """
        refuse_loops(self.mechanism, "regressor")
        return self._kernel(q, v, a, out=out)

    @cached_property
    def _kernel(self) -> Kernel:
        from .regressor import base_kernel

        return base_kernel(self)

    @cached_property
    def operator(self) -> Any:
        """Matrix Y as a SciPy linear operator; `operator @ p` is `project(p)`."""
        from scipy.sparse.linalg import LinearOperator

        shape = (self.rank, self.n_parameters)
        return LinearOperator(shape, matvec=lambda p: self.project(p.ravel()), dtype=float)  # type: ignore[call-arg]  (stubs)

    @cached_property
    def matrix(self) -> np.ndarray:
        """Dense matrix Y (rank, n_parameters), the identity on `columns`."""
        Y = np.zeros((self.rank, self.n_parameters))
        if self.rank:
            Y[:] = self.project(np.eye(self.n_parameters)).T
            Y[:, self.columns] = np.eye(self.rank)
        return Y

    @property
    def null_directions(self) -> np.ndarray:
        """Changes of p without effect on torques, (n_parameters, n), one per counted parameter that is not base."""
        base = set(self.columns.tolist())
        others = [place for place in self.counted if place not in base]
        N = np.zeros((self.n_parameters, len(others)))
        N[others, range(len(others))] = 1.0
        N[self.columns] -= self.matrix[:, others]
        return N

    def viewed(self, view: str) -> BaseParameters:
        """Convert the result to another view of the link parameters."""
        from .analyse import base_parameters

        return base_parameters(
            self.mechanism,
            drives=self.kinds,
            view=view,
            massless=self.massless,
            loops=self.loops,
            q0=self.q0,
            exact=None if self.certified else False,
        )

    # --- presentation

    def describe(self) -> Description:
        """Describe the result for text, figures and pages."""
        from ._describe import describe_base_parameters

        return describe_base_parameters(self)

    def to_markdown(self) -> str:
        """Format the table as Markdown."""
        return markdown(self)

    def to_latex(self) -> str:
        """Format the expressions as LaTeX."""
        return latex(self)

    def to_csv(self) -> str:
        """Format the table as CSV: number, name, link, expression."""
        return csv_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, including names and expressions."""
        return super().to_dict() | {"table": records(self), "summary": self.summary}

    def write_table(self, path: str | PathLike[str], format: str = "md") -> Path:
        """Write the table to a file as "md", "latex" or "csv"."""
        writers = {"md": self.to_markdown, "latex": self.to_latex, "csv": self.to_csv}
        if format not in writers:
            raise unknown_name("format", format, writers)
        return write_text(path, writers[format]())

    def _checked(self, parameters) -> np.ndarray:
        p = np.asarray(parameters, dtype=float)
        if p.shape[-1:] != (self.n_parameters,):
            raise ShapeError(f"must have shape (..., {self.n_parameters}), got {p.shape}", element="parameters")
        return p
