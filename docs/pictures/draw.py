"""Draws the pictures of docs/conventions.md: `python docs/pictures/draw.py` writes them beside this file.

Standard library only, and the same bytes every time, so that a change of a picture shows in the diff.
"""

from __future__ import annotations

import math
import re
from html import escape
from itertools import pairwise
from pathlib import Path

INK, FAINT, PARENT, CHILD, NEXT = "#1c2733", "#6b7785", "#dce8f4", "#fdebd3", "#eef0f2"
RED, GREEN, BLUE, PURPLE, TEAL = "#c62828", "#2e7d32", "#1565c0", "#7b1fa2", "#00695c"
SANS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"


class Canvas:
    """A white SVG page that collects elements."""

    def __init__(self, width: int, height: int, title: str):
        self.width, self.height, self.title = width, height, title
        self.elements: list[str] = []

    def add(self, tag: str, **attributes):
        """One SVG element; underscores in attribute names become hyphens."""
        words = " ".join(f'{name.replace("_", "-")}="{_text(value)}"' for name, value in attributes.items())
        self.elements.append(f"<{tag} {words}/>")

    def line(self, a, b, color=INK, width=1.6, dash=None):
        """A straight line, dashed if `dash` says how."""
        more = {} if dash is None else {"stroke_dasharray": dash}
        self.add("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], stroke=color, stroke_width=width, **more)

    def curve(self, points, color=INK, width=1.6, fill="none", dash=None):
        """A Bézier curve: a start, then three points for every piece."""
        steps = [f"M{_text(points[0][0])} {_text(points[0][1])}"]
        for k in range(1, len(points), 3):
            steps.append("C" + " ".join(f"{_text(x)} {_text(y)}" for x, y in points[k : k + 3]))
        more = {} if dash is None else {"stroke_dasharray": dash}
        self.add("path", d=" ".join(steps), fill=fill, stroke=color, stroke_width=width, **more)

    def head(self, tip, towards, color=INK, size=9.0):
        """An arrow head at `tip` that points along the vector `towards`."""
        n = math.hypot(*towards)
        u = (towards[0] / n, towards[1] / n)
        back = (tip[0] - size * u[0], tip[1] - size * u[1])
        side = 0.38 * size
        corners = (
            tip,
            (back[0] - side * u[1], back[1] + side * u[0]),
            (back[0] + side * u[1], back[1] - side * u[0]),
        )
        self.add("polygon", points=" ".join(f"{_text(x)},{_text(y)}" for x, y in corners), fill=color)

    def arrow(self, a, b, color=INK, width=1.8, dash=None, size=9.0):
        """A straight arrow from a to b."""
        d = (b[0] - a[0], b[1] - a[1])
        n = math.hypot(*d)
        self.line(a, (b[0] - 0.8 * size * d[0] / n, b[1] - 0.8 * size * d[1] / n), color, width, dash)
        self.head(b, d, color, size)

    def bent_arrow(self, points, color=INK, width=1.8, dash=None):
        """A Bézier curve that ends in an arrow head."""
        (bx, by), (x, y) = points[-2], points[-1]
        d = (x - bx, y - by)
        n = math.hypot(*d)
        self.curve([*points[:-1], (x - 7 * d[0] / n, y - 7 * d[1] / n)], color, width, dash=dash)
        self.head((x, y), d, color)

    def body(self, points, radius: float, fill: str):
        """A link: a rounded bar along a polyline, with an outline."""
        path = "M" + " L".join(f"{_text(x)} {_text(y)}" for x, y in points)
        for color, width in ((FAINT, 2 * radius + 3), (fill, 2 * radius)):
            self.add(
                "path",
                d=path,
                fill="none",
                stroke=color,
                stroke_width=width,
                stroke_linejoin="round",
                stroke_linecap="round",
            )

    def label(
        self,
        at,
        text: str,
        color=INK,
        size=15,
        anchor="start",
        mono=False,
        bold=False,
        italic=False,
        halo="#ffffff",
    ):
        """Text with a halo that keeps lines off it; `_{…}` is a subscript."""
        style = f'font-family="{MONO if mono else SANS}" font-size="{_text(size)}" text-anchor="{anchor}"'
        style += ' font-weight="bold"' if bold else ""
        style += ' font-style="italic"' if italic else ""
        spans = _spans(text, size)
        place = f'x="{_text(at[0])}" y="{_text(at[1])}"'
        behind = f'stroke="{halo}" stroke-width="4" stroke-linejoin="round" stroke-opacity="0.85" fill="{halo}"'
        self.elements.append(f'<text {place} {style} {behind} aria-hidden="true">{spans}</text>')
        self.elements.append(f'<text {place} {style} fill="{color}">{spans}</text>')

    def save(self, path: Path):
        """Write the page."""
        box = f"0 0 {self.width} {self.height}"
        start = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{self.width}" height="{self.height}">'
        )
        background = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        lines = [start, f"<title>{escape(self.title)}</title>", background, *self.elements, "</svg>"]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _text(value) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))


def _spans(text: str, size: float) -> str:
    low, small = _text(0.28 * size), _text(0.76 * size)
    parts, lift = [], ""
    for k, part in enumerate(re.split(r"_\{(.*?)\}", text)):
        if k % 2:
            parts.append(f'<tspan dy="{low}" font-size="{small}">{escape(part)}</tspan>')
            lift = f' dy="-{low}"'
        elif part:
            parts.append(f"<tspan{lift}>{escape(part)}</tspan>")
            lift = ""
    return "".join(parts)


# --- three dimensions, seen from the front, right and above


def product(A, B):
    """Product of two 3×3 matrices given by rows."""
    return [[sum(A[i][k] * B[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def turn(axis: str, degrees: float):
    """Rotation matrix about a coordinate axis."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    R = [[float(a == b) for b in range(3)] for a in range(3)]
    R[i][i], R[i][j], R[j][i], R[j][j] = c, -s, s, c
    return R


VIEW = product(turn("x", -62), turn("z", -28))


def seen(vector, length=1.0):
    """A vector of world axes on the page (x to the right, y down)."""
    x, y, _ = (sum(VIEW[i][k] * vector[k] for k in range(3)) for i in range(3))
    return (length * x, -length * y)


def column(R, k):
    """Column k of a 3×3 matrix."""
    return [row[k] for row in R]


def triad(canvas: Canvas, origin, R, length=52.0, width=2.4, dash=None, names=("x", "y", "z"), shift=None):
    """A frame: red x, green y, blue z."""
    for k, color in enumerate((RED, GREEN, BLUE)):
        dx, dy = seen(column(R, k), length)
        tip = (origin[0] + dx, origin[1] + dy)
        canvas.arrow(origin, tip, color, width, dash)
        if names[k]:
            n = math.hypot(dx, dy)
            sx, sy = (shift or {}).get(k, (0, 0))
            at = (tip[0] + 11 * dx / n + sx, tip[1] + 11 * dy / n + 5 + sy)
            canvas.label(at, names[k], color, 14, "middle", italic=True)
    canvas.add("circle", cx=origin[0], cy=origin[1], r=3.4, fill=INK)


def two_links() -> Canvas:
    """Two links, their frames, and the transforms between them."""
    page = Canvas(800, 620, "Link f(i), joint i and link i: their frames and the transforms between them")
    world, parent, joint, link, next_joint = (60, 520), (160, 396), (340, 344), (520, 232), (700, 214)
    center = (606, 232)
    R_parent = turn("z", 12)
    R_joint = product(turn("y", 12), turn("x", 30))
    R_moved = product(R_joint, turn("z", 62))
    R_link = product(R_moved, product(turn("x", -22), turn("z", -76)))
    R_next = product(R_link, product(turn("y", 62), turn("z", 20)))

    page.body([parent, (240, 352), joint], 40, PARENT)
    page.body([joint, (450, 296), (590, 244), next_joint], 46, CHILD)
    page.body([next_joint, (830, 196)], 28, NEXT)

    axis = seen(column(R_joint, 2))
    below, above = ((joint[0] + t * axis[0], joint[1] + t * axis[1]) for t in (-150, 245))
    page.line(below, above, FAINT, 1.4, "9 4 2 4")

    # Transforms: an arrow runs from frame a to frame b of T_a_b.
    page.bent_arrow([(60, 514), (66, 470), (100, 420), (150, 399)], TEAL)
    page.bent_arrow([(166, 388), (200, 330), (270, 310), (331, 338)], TEAL)
    page.bent_arrow([(343, 335), (352, 262), (430, 214), (511, 228)], TEAL)
    page.bent_arrow([(66, 524), (240, 590), (470, 560), (518, 243)], TEAL, dash="7 4")
    page.bent_arrow([(525, 225), (560, 150), (640, 140), (695, 204)], TEAL)

    # Vectors of document 003.
    page.arrow(joint, (next_joint[0] - 7, next_joint[1] + 3), PURPLE, 2.0)
    page.arrow(link, (center[0] - 8, center[1]), PURPLE, 2.0)

    triad(page, world, turn("z", 0), 48)
    triad(page, parent, R_parent, 44)
    triad(page, link, R_link, 44)
    triad(page, next_joint, R_next, 42)
    triad(page, joint, R_moved, 74, dash="5 3", names=("x′", "y′", ""))
    triad(page, joint, R_joint, 74)

    swing = [seen(_on_circle(R_joint, 62 * k / 16), 56) for k in range(17)]
    arc = [(joint[0] + x, joint[1] + y) for x, y in swing]
    for a, b in pairwise(arc[:-2]):
        page.line(a, b, INK, 2.0)
    page.head(arc[-1], (arc[-1][0] - arc[-3][0], arc[-1][1] - arc[-3][1]), INK, 9)

    cx, cy = center
    page.add("circle", cx=cx, cy=cy, r=7, fill="#ffffff", stroke=INK, stroke_width=1.6)
    for x, y in ((1, 1), (-1, -1)):
        page.add("path", d=f"M{cx} {cy} L{cx + 7 * x} {cy} A7 7 0 0 1 {cx} {cy + 7 * y} Z", fill=INK)

    page.label((14, 562), "world, link 0", bold=True)
    page.label((196, 436), "link f(i)", bold=True)
    page.label((566, 330), "link i", bold=True)
    page.label((712, 272), "link s(i,k)", bold=True)

    transforms = (
        ((90, 470), "T_world_parent", "T_{f(i)}"),
        ((64, 286), "T_parent_joint", "M_{f(i),ns(i)}"),
        ((352, 206), "T_joint_child", ""),
        ((432, 520), "T_world_link", "T_{i}"),
        ((474, 122), "T_parent_joint of child k", "M_{i,k}"),
    )
    for (x, y), name, symbol in transforms:
        page.label((x, y), name, TEAL, 14, mono=True)
        if symbol:
            page.label((x + 8.43 * len(name) + 4, y), "= " + symbol, TEAL, 15, italic=True)
    page.label((404, 354), "motion(q_{i})", INK, 14, mono=True)
    page.label((610, 290), "l_{i,k}", PURPLE, 16, italic=True)
    page.label((556, 228), "c_{i}", PURPLE, 16, italic=True)
    page.label((582, 214), "centre of mass", INK, 13)
    page.label((250, 236), "joint axis", FAINT, 13)

    page.label((20, 34), "Two frames at the joint:", bold=True, size=14)
    for y, dash, text in (
        (58, None, "joint frame x y z, fixed on link f(i)"),
        (82, "5 3", "moved frame x′ y′ z, fixed on link i"),
    ):
        page.arrow((22, y - 5), (70, y - 5), RED, 2.4, dash)
        page.label((82, y), text, size=14)
    page.label((20, 110), "A green-blue arrow runs from", TEAL, 14)
    page.label((20, 130), "frame a to frame b of T_a_b.", TEAL, 14)

    page.label((432, 566), "T_{i} = T_{f(i)} · M_{f(i),ns(i)} · A_{i}", size=17, italic=True)
    page.label((432, 596), "A_{i} =", size=17, italic=True)
    page.label((484, 596), "motion(q_{i}) · T_joint_child", size=14, mono=True)
    return page


def _on_circle(R, degrees: float):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [c * R[k][0] + s * R[k][1] for k in range(3)]


TREE_LINKS = (  # name, number of the parent, place on the page, where the name stands
    ("base", None, (200, 392), "left"),
    ("torso", 0, (200, 300), "left"),
    ("left arm", 1, (110, 208), "left"),
    ("left hand", 2, (110, 116), "left"),
    ("head", 1, (200, 208), "top"),
    ("right arm", 1, (290, 208), "right"),
    ("right hand", 5, (290, 116), "right"),
)
TREE_FUNCTIONS = (
    ("parent(5)", "f(5) = 1"),
    ("children(1)", "Γ(1) = (2, 4, 5)"),
    ("out_degree(1)", "dg⁺(1) = 3"),
    ("child(1, 3)", "s(1, 3) = 5"),
    ("sibling_rank(5)", "ns(5) = 3"),
    ("n_ancestors(6)", "nan(6) = 3"),
    ("ancestor(6, 3)", "an(6, 3) = 5"),
    ("depth_first_number(4)", "Dnum(4) = 4"),
    ("depth_first_number_from(1, 5)", "Dnum_{1}(5) = 5"),
    ("subtree(5)", "(5, 6)"),
    ("reachability[6]", "D_{6} = 1 1 0 0 0 1 1"),
)


def tree() -> Canvas:
    """A branching mechanism with its numbers, and what the index functions say about it."""
    page = Canvas(800, 440, "A tree of seven links with its numbers and index functions")
    for i, (_, f, (bx, by), side) in enumerate(TREE_LINKS):
        if f is None:
            continue
        ax, ay = TREE_LINKS[f][2]
        n = math.hypot(bx - ax, by - ay)
        ux, uy = 24 * (bx - ax) / n, 24 * (by - ay) / n
        page.arrow((ax + ux, ay + uy), (bx - ux, by - uy), INK, 2.0)
        left = side == "left" and f > 0
        # The middle of three edges has room for its name only near the upper end.
        part = 0.68 if side == "top" else 0.5
        beside = (ax + part * (bx - ax) + (-9 if left else 9), ay + part * (by - ay) + 5)
        page.label(beside, f"joint {i}", TEAL, 13, "end" if left else "start")
    for i, (name, _, (x, y), side) in enumerate(TREE_LINKS):
        fill = NEXT if i == 0 else PARENT if i == 1 else CHILD
        page.add("circle", cx=x, cy=y, r=22, fill=fill, stroke=FAINT, stroke_width=1.6)
        at, anchor = {
            "left": ((x - 28, y + 5), "end"),
            "right": ((x + 28, y + 5), "start"),
            "top": ((x, y - 29), "middle"),
        }[side]
        page.label((x, y + 7), str(i), size=19, anchor="middle", bold=True, halo=fill)
        page.label(at, name, FAINT, 14, anchor)
    page.label((24, 34), "Depth first, in file order:", bold=True, size=15)
    page.label((24, 56), "every parent before its children", size=14)
    page.line((160, 416), (240, 416), FAINT, 2.5)

    page.label((418, 34), "mechanism.tree.…", mono=True, size=14, bold=True)
    page.label((658, 34), "document 003", size=14, bold=True)
    for k, (call, value) in enumerate(TREE_FUNCTIONS):
        y = 68 + 33 * k
        page.line((418, y + 10), (786, y + 10), NEXT, 1.4)
        page.label((418, y), call, TEAL, 13, mono=True)
        page.label((658, y), value, size=14)
    return page


def main():
    """Write all pictures."""
    here = Path(__file__).resolve().parent
    two_links().save(here / "two_links.svg")
    tree().save(here / "tree.svg")


if __name__ == "__main__":
    main()
