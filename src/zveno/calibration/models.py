"""Redundant geometric models: six elementary transforms per link, one per joint, and choices of their columns."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..errors import ModelError, ZvenoError, unknown_name
from ..loops.selection import driven_entries, selection
from ..mechanism import Joint, Mechanism
from ..spatial.rotations import angle_about, is_about_one_axis, z_to
from ..spatial.transforms import inverse, transform
from ._joint_terms import WORDS, JointTerm, terms_of

LETTERS = "xyz"
SIX = tuple((kind, axis) for kind in "TR" for axis in range(3))
"""Six terms of a link in the document's order: Tx Ty Tz Rx Ry Rz."""


REMEDY = 'zveno.calibration.CalibrationModel("dh")'
"""Example of a model."""


@dataclass(frozen=True)
class CalibrationModel:
    """Choice of the parameters that may deviate, for fits, plans and `identifiability`.

    Attributes:
        parameters: "all", a class ("dh", "controller", "tcp", "base", "hand_eye", "offsets"), names or patterns
            (`Tx*`).
        joint_terms: "gear", "compliance", "eccentricity", "ovality" and "hysteresis" add terms to every joint. If
            None, a fit of all parameters takes all of them where the data show them together; others take none.
        strategy: letters that choose which of dependent parameters stand for the others: J (joints), B (base), T
            (tool) first, then from L or R. If None, "JL"; a fit takes "TJL" if the measured point is clearly
            elsewhere than drawn, and "JTL" if no length is measured.
        fixed: names or patterns that stay nominal.
    """

    parameters: str | Sequence[str] = "all"
    joint_terms: Sequence[str] | None = None
    strategy: str | None = None
    fixed: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.joint_terms, str):
            raise ZvenoError(
                f"joint_terms is {self.joint_terms!r}", element="model", remedy='Give a list, such as ["gear"]'
            )

    @property
    def terms(self) -> tuple[str, ...]:
        """Joint terms that are requested by name."""
        return tuple(self.joint_terms or ())

    def choose(self, model: Model) -> str | list[str]:
        """Return the parameters that may deviate: "all", or names."""
        if self.parameters == "all" and not len(self.fixed):
            return "all"
        gone = set(model.choose(self.fixed)) if len(self.fixed) else set()
        chosen = [name for name in model.choose(self.parameters) if name not in gone]
        if not chosen:
            raise ZvenoError("no parameter is left to be estimated", remedy="Fix fewer, or choose another class")
        return chosen


@dataclass(frozen=True)
class Term:
    """Parameter of a model.

    Attributes:
        name: `Tx1`, `Rzq2`, `Kq2` (gear ratio), `Cq2` (compliance), …
        role: "base", "link", "tool", "joint" or the word of a joint term: "gear", "compliance", …
        kind: "T", "R" or the letters of a joint term: "K", "C", …
        axis: 0, 1, 2 for x, y, z of the frame it acts in.
        nominal: value the deviation is added to, m or rad; for rotations of a link only where it is about this
            axis.
        unit: "m", "rad", "1" (relative), "rad/Nm" or "m/N".
        place: name of the joint or link it belongs to.
    """

    name: str
    role: str
    kind: str
    axis: int
    nominal: float
    unit: str
    place: str


@dataclass(frozen=True, eq=False)
class Block:
    """Constant transform between two joints, or from the last joint to a frame, with its six deviations."""

    label: str
    T: np.ndarray
    first: int
    """Number of its first term; the six are consecutive."""
    end: int
    """Link whose joint it leads to, or −1 where it leads to a frame."""
    frame: str | None = None


@dataclass(frozen=True, eq=False)
class Move:
    """Joint of the chain, turned so that its axis is a coordinate axis of its frame."""

    number: int
    """Number of the link it moves."""
    label: str
    joint: Joint
    sigma: int | None
    """Joint type: 1 about the axis, 0 along it, None for other joints, which have no terms of their own."""
    axis: int
    sign: float
    Z: np.ndarray
    """Transform from the turned joint frame to the joint's own."""
    position: slice
    velocity: slice
    multiplier: float
    offset: float
    offset_term: int = -1
    """Number of its offset among the terms."""
    joint_terms: tuple[tuple[int, JointTerm], ...] = ()
    """Its other terms, with their numbers."""


@dataclass(frozen=True, eq=False)
class Model:
    """Mechanism as products of elementary transforms to one or several frames. Make one with `redundant_model`.

    Attributes:
        mechanism: the original mechanism.
        frames: frames that are measured.
        terms: parameters, in the order of the product.
        paths: for every frame, measured or at the end of a loop, blocks and joints from the world to it: (block,
            move, block, …, block) by number.
        loads: under which joints yield: "model" (its masses) or "rods".
    """

    mechanism: Mechanism
    frames: tuple[str, ...]
    terms: tuple[Term, ...]
    blocks: tuple[Block, ...]
    moves: tuple[Move, ...]
    paths: dict[str, tuple[int, ...]] = field(repr=False)
    loads: str = "model"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return tuple(term.name for term in self.terms)

    @property
    def code_modules(self) -> frozenset[str]:
        """Modules that the joint types come from."""
        return self.mechanism.code_modules

    @cached_property
    def fingerprint(self) -> str:
        """Hash that determines every function of the model."""
        words = self.mechanism.fingerprint, self.frames, self.terms, self.paths, self.loads
        blocks = b"".join(block.T.tobytes() for block in self.blocks)
        return hashlib.sha256(repr(words).encode() + blocks).hexdigest()

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of a parameter by name."""
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def axes(self) -> tuple[Move, ...]:
        """Joints with an offset: revolute and prismatic ones."""
        return tuple(move for move in self.moves if move.sigma is not None)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates that move the frames, in their order: of motors, where loops are closed."""
        if self.mechanism.loops:
            entries = driven_entries(selection(self.mechanism))
            return tuple(self.mechanism.coordinate_names[k] for k in entries)
        used = {k for move in self.moves for k in range(move.position.start, move.position.stop)}
        return tuple(self.mechanism.coordinate_names[k] for k in sorted(used))

    @cached_property
    def offset_terms(self) -> list[int]:
        """Numbers of the offsets of `axes`."""
        return [move.offset_term for move in self.axes]

    @cached_property
    def yields(self) -> bool:
        """True if joints of the model yield under load."""
        return any(term.role == "compliance" for term in self.terms)

    @cached_property
    def scale(self) -> float:
        """Length, m, that makes lengths comparable with angles: half the reach, at least 1 mm."""
        lengths = [sum(np.linalg.norm(self.blocks[b].T[:3, 3]) for b in path[::2]) for path in self.paths.values()]
        return max(0.5 * float(max(lengths)), 1e-3)

    def term(self, name: str) -> Term:
        """Return the parameter of that name."""
        if name not in self.numbers:
            raise unknown_name("parameter", name, self.names)
        return self.terms[self.numbers[name]]

    def choose(self, patterns: str | Iterable[str]) -> list[str]:
        """Return the names that match a pattern (`Tx*`, `*q3`, a name, or one of `PARAMETER_CLASSES`), in order."""
        patterns = [patterns] if isinstance(patterns, str) else list(patterns)
        chosen: set[str] = set()
        for pattern in patterns:
            if pattern in PARAMETER_CLASSES:
                chosen.update(term.name for term in self.terms if PARAMETER_CLASSES[pattern](self, term))
            elif matches := fnmatch.filter(self.names, pattern):
                chosen.update(matches)
            else:
                known = (*PARAMETER_CLASSES, *self.names)
                raise unknown_name("parameter or class of parameters", pattern, known)
        return [name for name in self.names if name in chosen]

    def text(self, kept: Iterable[str] | None = None, frame: str | None = None, nominal: bool = False) -> str:
        """Return the product in the document's notation; terms that are not `kept` are left out, or have the sign °
        if fixed. The letters of joint terms beyond the offset follow the coordinate: `Rz(q2; K C)`. The products to
        both ends of every closed loop come last.

        Args:
            kept: parameters of the model; all of them if None.
            frame: which product, where several frames are measured.
            nominal: whether to write the nominal values behind the terms.
        """
        kept = set(self.names) if kept is None else set(kept)
        measured = self._path_text(self.frames[0] if frame is None else frame, kept, nominal)
        loops = [
            f"{loop.label}: "
            + " = ".join(
                self._path_text(self.mechanism.frame(end).name, kept, nominal) for end in (loop.frame, loop.other)
            )
            for loop in self.mechanism.loops
        ]
        return "; ".join([measured, *loops])

    def _path_text(self, frame: str, kept: set[str], nominal: bool) -> str:
        words = []
        for place, number in enumerate(self.paths[frame]):
            if place % 2 == 0:
                words.append(self._block_text(self.blocks[number], kept, nominal))
            else:
                words.append(self._move_text(self.moves[number], kept))
        return " ".join(word for word in words if word)

    def _block_text(self, block: Block, kept: set[str], nominal: bool) -> str:
        words = []
        for term in self.terms[block.first : block.first + 6]:
            if term.name not in kept and not term.nominal:
                continue
            word = f"{term.kind}{LETTERS[term.axis]}{'' if term.name in kept else '°'}"
            words.append(f"{word}({term.nominal:.6g})" if nominal and term.nominal else word)
        if not is_about_one_axis(block.T[:3, :3]):
            words.insert(sum(word.startswith("T") for word in words), "R°")
        return f"[{' '.join(words)}]{block.label}" if words else ""

    def _move_text(self, move: Move, kept: set[str]) -> str:
        if move.sigma is None:
            return f"{move.joint.type.kind}(q{move.label})"
        sign = "-" if move.sign < 0 else ""
        letters = [term.letters for number, term in move.joint_terms if self.terms[number].name in kept]
        inside = " ".join([f"{sign}q{move.label}{';' if letters else ''}", *letters])
        fixed = "" if self.terms[move.offset_term].name in kept else "°"
        return f"{'TR'[move.sigma]}{LETTERS[move.axis]}({inside}){fixed}"


def redundant_model(
    mechanism: Mechanism,
    frames: str | Sequence[str | None] | None = None,
    joint_terms: Sequence[str] = (),
    loads: str = "model",
) -> Model:
    """Build the complete redundant model of a mechanism.

    Args:
        mechanism: any mechanism; joints with several coordinates have no terms of their own, their neighbours
            cover them. Closed loops add the ways to their ends.
        frames: frames that are measured; the default frame if none.
        joint_terms: words of `joint_terms.JOINT_TERMS` that add terms to every joint on the way.
        loads: under which joints yield, where they do.
    """
    wanted = (frames,) if isinstance(frames, str) or frames is None else tuple(frames)
    measured = dict.fromkeys(mechanism.frame(name).name for name in wanted)
    ends = [mechanism.frame(name).name for loop in mechanism.loops for name in (loop.frame, loop.other)]
    chosen = [mechanism.frame(name) for name in dict.fromkeys([*measured, *ends])]
    routes = {frame.name: _moving_links(mechanism, frame.link) for frame in chosen}
    builder = _Builder(mechanism, routes, tuple(joint_terms))
    for frame in chosen:
        builder.add(frame, "link" if frame.name in ends else "tool")
    if not builder.moves:
        raise ModelError(
            "no joint moves the frame, so there is nothing to calibrate",
            element=chosen[0].name,
            remedy="Choose a frame that joints move",
        )
    return Model(
        mechanism,
        tuple(measured),
        tuple(builder.terms),
        tuple(builder.blocks),
        tuple(builder.moves),
        {name: tuple(path) for name, path in builder.paths.items()},
        loads,
    )


class _Builder:
    """Collector of blocks, joints and terms along the paths to the frames, with common parts once."""

    def __init__(self, mechanism: Mechanism, routes: dict[str, list[int]], joint_terms: tuple[str, ...]):
        self.mechanism, self.joint_terms = mechanism, terms_of(joint_terms)
        self.terms: list[Term] = []
        self.blocks: list[Block] = []
        self.moves: list[Move] = []
        self.paths: dict[str, list[int]] = {}
        self._block_numbers: dict[tuple, int] = {}
        self._move_numbers: dict[int, int] = {}
        self._labels = {link: str(k) for k, link in enumerate(sorted({x for r in routes.values() for x in r}), 1)}
        self._grounded = _on_ground(mechanism)
        self._onward: dict[int, set] = {}
        for name, route in routes.items():
            for here, next_place in zip([0, *route], [*route, name], strict=True):
                self._onward.setdefault(here, set()).add(next_place)

    def add(self, frame, role: str):
        path: list[int] = []
        route = _moving_links(self.mechanism, frame.link)
        number = self.mechanism.link_number(frame.link)
        links = [*(i for i in self.mechanism.tree.ancestors(number) if i), *([number] if number else [])]
        T, here = np.eye(4), 0
        for i in links:
            joint = self.mechanism.joint_of(i)
            T = T @ joint.T_parent_joint
            if i in route:
                move = _move(self.mechanism, i, self._labels[i])
                path.append(
                    self._block(here, i, T @ move.Z, None, "link" if here or i in self._grounded else "base")
                )
                path.append(self._joint(move))
                T, here = inverse(move.Z), i
            T = T @ joint.T_joint_child
        path.append(self._block(here, frame.name, T @ frame.T_link_frame, frame.name, role))
        self.paths[frame.name] = path

    def _block(self, here: int, next_place, T: np.ndarray, frame: str | None, role: str) -> int:
        key = (here, next_place)
        if key not in self._block_numbers:
            label = self._labels[here] if here else "o"
            if len(self._onward[here]) > 1:
                label += f".{self._labels.get(next_place, next_place)}"
            place = frame or self.mechanism.link_names[here]
            self._block_numbers[key] = len(self.blocks)
            self.blocks.append(Block(label, T, len(self.terms), -1 if frame else next_place, frame))
            single = is_about_one_axis(T[:3, :3])
            for kind, axis in SIX:
                if kind == "T":
                    nominal = T[axis, 3] if abs(T[axis, 3]) > 1e-12 else 0.0
                else:
                    nominal = angle_about(T[:3, :3], axis) if single else 0.0
                name = f"{kind}{LETTERS[axis]}{label}"
                self.terms.append(Term(name, role, kind, axis, nominal, "m" if kind == "T" else "rad", place))
        return self._block_numbers[key]

    def _joint(self, move: Move) -> int:
        if move.number not in self._move_numbers:
            self._move_numbers[move.number] = len(self.moves)
            self.moves.append(move if move.sigma is None else self._with_terms(move, move.sigma))
        return self._move_numbers[move.number]

    def _with_terms(self, move: Move, sigma: int) -> Move:
        offset_term, joint_terms = len(self.terms), []
        kind, unit, place = "TR"[sigma], "rad" if sigma else "m", move.joint.name
        name = f"{kind}{LETTERS[move.axis]}q{move.label}"
        self.terms.append(Term(name, "joint", kind, move.axis, 0.0, unit, place))
        for term in self.joint_terms if self._is_read(move) else ():
            unit = term.units[sigma]
            if unit is not None:
                joint_terms.append((len(self.terms), term))
                name = f"{term.letters}q{move.label}"
                self.terms.append(Term(name, term.word, term.letters, move.axis, 0.0, unit, place))
        return replace(move, offset_term=offset_term, joint_terms=tuple(joint_terms))

    def _is_read(self, move: Move) -> bool:
        """Return True if the joint's coordinate is a reading: in closed loops, dependent joints have none."""
        return not self.mechanism.loops or move.velocity.start in selection(self.mechanism).driven


def _move(mechanism: Mechanism, i: int, label: str) -> Move:
    joint = mechanism.joint_of(i)
    sigma = joint.type.sigma
    axis, sign, Z = 2, 1.0, np.eye(4)
    if sigma is not None:
        direction = np.asarray(joint.type.parameters()["axis"])
        if np.count_nonzero(direction) == 1:
            axis = int(np.argmax(abs(direction)))
            sign = float(np.sign(direction[axis]))
        else:
            Z = transform(z_to(direction))
    places = mechanism.q_slices[joint.name], mechanism.v_slices[joint.name]
    multiplier, offset = (1.0, 0.0) if joint.mimic is None else (joint.mimic.multiplier, joint.mimic.offset)
    return Move(i, label, joint, sigma, axis, sign, Z, *places, multiplier, offset)


def _moving_links(mechanism: Mechanism, link: str) -> list[int]:
    """Return the moving links on the path from the world to a link, inclusive."""
    number = mechanism.link_number(link)
    links = [*mechanism.tree.ancestors(number), number]
    return [i for i in links if i and mechanism.joint_of(i).type.n_v]


def _on_ground(mechanism: Mechanism) -> set[int]:
    """Return the first moving links of closed loops that the ground closes: their places are lengths of a loop, and
    do not place the robot."""
    links: set[int] = set()
    for loop in mechanism.loops:
        routes = [_moving_links(mechanism, link)[:1] for link in mechanism.loop_links(loop)]
        if routes[0] != routes[1]:
            links.update(*routes)
    return links


def _is_dh(model: Model, term: Term) -> bool:
    """Return True for terms of a Denavit–Hartenberg table: offset, distance along the axis, length and twist about
    the next axis."""
    if term.role == "joint":
        return True
    if term.role not in ("link", "tool"):
        return False
    number = model.numbers[term.name]
    block = next(block for block in model.blocks if block.first <= number < block.first + 6)
    label = block.label.partition(".")[0]
    if label == "o":
        return False
    before = next(move for move in model.moves if move.label == label)
    across = (before.axis + 1) % 3
    return (term.kind, term.axis) in (("T", before.axis), ("T", across), ("R", across))


PARAMETER_CLASSES: dict[str, Callable[[Model, Term], bool]] = {
    "all": lambda model, term: True,
    "controller": lambda model, term: term.role in ("joint", "tool", "base"),
    "offsets": lambda model, term: term.role == "joint",
    "dh": _is_dh,
    "tcp": lambda model, term: term.role == "tool",
    "base": lambda model, term: term.role == "base",
    "hand_eye": lambda model, term: term.role in ("tool", "base"),
    "links": lambda model, term: term.role == "link",
} | {word: lambda model, term, word=word: term.role == word for word in WORDS}
"""Classes of parameters by name: those a controller accepts, a DH table, the tool, the base, both, joint terms."""


GROUPS_OF_LETTERS = {"J": "joint", "B": "base", "T": "tool"}


def checked_strategy(strategy: str) -> str:
    """Return the strategy in capitals, with L at the end if no direction is given."""
    letters = strategy.upper()
    order, direction = (letters[:-1], letters[-1]) if letters[-1:] in ("L", "R") else (letters, "L")
    if any(letter not in GROUPS_OF_LETTERS for letter in order) or len(set(order)) < len(order):
        raise ZvenoError(
            f"{strategy!r} is not a strategy of column selection",
            remedy="Combine J (joints first), B (base first), T (tool first), and end with L (from the left) or R, "
            "for example JL or BJR",
        )
    return order + direction


def column_order(model: Model, strategy: str) -> list[int]:
    """Return numbers of the model's parameters in the order of the strategy."""
    strategy = checked_strategy(strategy)
    everything = list(range(len(model.terms)))
    if strategy[-1] == "R":
        everything.reverse()
    first = [k for letter in strategy[:-1] for k in everything if model.terms[k].role == GROUPS_OF_LETTERS[letter]]
    return first + [k for k in everything if k not in set(first)]


def independent_columns(
    A: np.ndarray, order: Sequence[int], rank: int, firm: np.ndarray | None = None
) -> list[int]:
    """Return the first `rank` columns in that order that do not depend on those before them, sorted.

    The rank has been decided from singular values; here the threshold follows it.

    Args:
        A: columns of unit length, or zero.
        order: order of selection.
        rank: of A.
        firm: how independent each column must be to be taken at once, as a share of its own length; others are
            passed over at first, and taken only where the rank needs them. A fit then is not parametrised by
            what can hardly be seen, such as the offset of an axis that the measured point nearly lies on.
    """
    Q = np.zeros((A.shape[0], rank))
    kept: list[int] = []
    factor, floor = 1.0, 1e-7
    while len(kept) < rank and floor > 1e-30:
        for k in order:
            if len(kept) == rank:
                break
            if k in kept:
                continue
            v, basis = A[:, k], Q[:, : len(kept)]
            for _ in range(2):
                v = v - basis @ (basis.T @ v)
            length = float(np.linalg.norm(v))
            if length > (floor if firm is None else max(floor, factor * firm[k])):
                Q[:, len(kept)] = v / length
                kept.append(k)
        factor, floor = (0.1 * factor, floor) if firm is not None and factor > 1e-7 else (0.0, 0.1 * floor)
    return sorted(kept)
