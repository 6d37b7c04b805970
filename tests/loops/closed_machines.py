"""Small machines with closed loops, their motors and a closed configuration."""

from __future__ import annotations

import numpy as np

import zveno
from mechanisms import random_mechanism
from zveno.loops import mobility
from zveno.mechanism import Frame, Joint, Link, Loop, Prismatic, Revolute, Spherical, Universal, assemble
from zveno.spatial import inertia
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

DOWN = (0.0, -1.0, 0.0)
"""Axis of plane machines in the x–z plane; angles count from x to z."""


def rod(mass: float, length: float) -> np.ndarray:
    across = mass * length**2 / 12
    return inertia.parameters(mass, np.array([length / 2, 0, 0]), np.diag([1e-4 * across, across, across]))


def at(x=0.0, y=0.0, z=0.0) -> np.ndarray:
    return transform(None, [x, y, z])


def four_bar(locked="point", motors=("crank",), cut="coupler") -> zveno.Robot:
    """Crank 0.3, coupler 0.9, rocker 0.8, ground 1.0; `cut` names the link at whose far end the loop is cut."""
    axis = Revolute(DOWN)
    links = [
        Link("ground"),
        Link("crank", rod(1.0, 0.3)),
        Link("coupler", rod(2.0, 0.9)),
        Link("rocker", rod(1.5, 0.8)),
    ]
    joints = [Joint("crank", "ground", "crank", axis)]
    if cut == "coupler":
        joints += [
            Joint("coupler", "crank", "coupler", axis, at(0.3)),
            Joint("rocker", "ground", "rocker", axis, at(1.0)),
        ]
        frames = [Frame("a", "coupler", at(0.9)), Frame("b", "rocker", at(0.8))]
        q = {"crank": 0.4, "coupler": 0.44494895832745224, "rocker": 1.729320933791342}
    else:  # cut between crank and coupler: the coupler hangs on the rocker, its x towards the crank
        joints += [
            Joint("rocker", "ground", "rocker", axis, at(1.0)),
            Joint("coupler", "rocker", "coupler", axis, at(0.8)),
        ]
        links[2] = Link("coupler", rod(2.0, 0.9))
        frames = [Frame("a", "crank", at(0.3)), Frame("b", "coupler", at(0.9))]
        q = {
            "crank": 0.4,
            "rocker": 1.729320933791342,
            "coupler": 0.4 + 0.44494895832745224 + np.pi - 1.729320933791342,
        }
    return zveno.Robot(
        assemble("four_bar", links, joints, frames, loops=[Loop("a", "b", locked)], motors=motors, reference=q)
    )


def five_bar(motors=("left", "right")) -> zveno.Robot:
    axis = Revolute(DOWN)
    links = [Link("ground")]
    links += [Link(f"{side}_{part}", rod(m, length)) for side in ("left", "right") for part, m, length in
              (("proximal", 1.0, 0.25), ("distal", 0.7, 0.35))]  # fmt: skip
    joints = []
    for side, x in (("left", -0.15), ("right", 0.15)):
        joints.append(Joint(side, "ground", f"{side}_proximal", axis, at(x)))
        joints.append(Joint(f"{side}_distal", f"{side}_proximal", f"{side}_distal", axis, at(0.25)))
    frames = [Frame(f"{side}_end", f"{side}_distal", at(0.35)) for side in ("left", "right")]
    q = [2.2, -1.6764878190258818, 0.9, 1.6971946475693591]
    return zveno.Robot(
        assemble("five_bar", links, joints, [*frames, Frame("tool", "left_distal", at(0.35))],
                 loops=[Loop("left_end", "right_end")], motors=motors, reference=q)
    )  # fmt: skip


def palletiser() -> zveno.Robot:
    """Yaw and three plane loops closed by points: nine rows of rank six."""
    axis, half_turn = Revolute(DOWN), np.pi
    chain = [
        ("yaw", "base", 20.0, 0.2, Revolute(), at(z=0.4)),
        ("shoulder", "yaw", 12.0, 0.7, axis, at()),
        ("elbow", "shoulder", 8.0, 0.6, axis, at(0.7)),
        ("crank", "yaw", 2.0, 0.15, axis, at()),
        ("drive_rod", "crank", 1.5, 0.7, axis, at(0.15)),
        ("level_rod", "yaw", 1.0, 0.7, axis, at(-0.1, 0, 0.1)),
        ("plate", "shoulder", 0.5, 0.1, axis, at(0.7)),
        ("level_rod2", "plate", 0.8, 0.6, axis, at(0.05, 0, 0.12)),
        ("wrist", "elbow", 1.5, 0.1, axis, at(0.6)),
        ("flange", "wrist", 0.4, 0.05, Revolute(), at(0.1, 0, -0.05)),
    ]
    links = [Link("base"), *(Link(name, rod(mass, length)) for name, _, mass, length, _, _ in chain)]
    joints = [Joint(name, parent, name, kind, T) for name, parent, _, _, kind, T in chain]
    ends = {
        "drive_end": ("drive_rod", at(0.7)), "upper_back": ("elbow", at(-0.15)),
        "level_end": ("level_rod", at(0.7)), "plate_corner": ("plate", at(-0.1, 0, 0.1)),
        "level_end2": ("level_rod2", at(0.6)), "wrist_corner": ("wrist", at(0.05, 0, 0.12)),
    }  # fmt: skip
    loops = [Loop("drive_end", "upper_back"), Loop("level_end", "plate_corner"), Loop("level_end2", "wrist_corner")]
    frames = [Frame(name, link, T) for name, (link, T) in ends.items()]
    q = {"yaw": 0.3, "shoulder": 1.2, "elbow": 1.7 - half_turn, "crank": 2.9, "drive_rod": -1.7, "level_rod": 1.2,
         "plate": -1.2, "level_rod2": 2.9 - half_turn, "wrist": half_turn - 2.9, "flange": 0.5}  # fmt: skip
    motors = ("yaw", "shoulder", "crank", "flange")
    return zveno.Robot(assemble("palletiser", links, joints, frames, loops=loops, motors=motors, reference=q))


def ankle(ball: bool = False, motors=("motor0", "motor1")) -> zveno.Robot:
    """A foot on a universal joint, moved by two cranks with rods, which spin if they hang on a `ball`."""
    links = [Link("shin"), Link("foot", inertia.parameters(1.1, (0.03, 0, -0.02), np.diag([2e-3, 4e-3, 4e-3])))]
    joints, frames, loops = (
        [Joint("foot", "shin", "foot", Universal((0, 1, 0), (1, 0, 0)))],
        [Frame("tool", "foot", at(0.05, 0, -0.05))],
        [],
    )
    for k, (y, z, length) in enumerate(((0.06, 0.3, 0.28), (-0.06, 0.22, 0.2))):
        links.append(Link(f"crank{k}", inertia.parameters(0.15, (-0.025, 0, 0), 5e-5 * np.eye(3))))
        slender = np.diag([0.1 * length**2 / 12, 0.1 * length**2 / 12, 1e-5])
        links.append(Link(f"rod{k}", inertia.parameters(0.1, (0, 0, -length / 2), slender)))
        joints.append(Joint(f"motor{k}", "shin", f"crank{k}", Revolute((0, 1, 0)), at(0.02, y, z)))
        kind = Spherical() if ball else Universal((0, 1, 0), (1, 0, 0))
        joints.append(Joint(f"swing{k}", f"crank{k}", f"rod{k}", kind, at(-0.05)))
        frames += [
            Frame(f"rod_end{k}", f"rod{k}", at(z=-length)),
            Frame(f"pin{k}", "foot", at(-0.05, y - 0.01 * np.sign(y), 0.02)),
        ]
        loops.append(Loop(f"rod_end{k}", f"pin{k}"))
    q = None if ball else [0, 0, -0.017898140293064024, 0.08946199758071129, -0.035721882398078775,
                           -0.025112999737785247, 0.12548561383533846, 0.05002085680576999]  # fmt: skip
    return zveno.Robot(assemble("ankle", links, joints, frames, loops=loops, motors=motors, reference=q))


def random_machine(seed: int) -> zveno.Robot:
    """A random tree with joints of many types, and one loop that its random reference closes by construction."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "universal", "spherical", "helical", "planar", "free")
    while True:
        tree = random_mechanism(int(rng.integers(1 << 30)), n=7, kinds=kinds, drives=bool(seed % 2))
        q = tree.random(rng)
        poses = zveno.Robot(tree).link_poses(q)
        first, second = (int(k) for k in rng.choice(np.arange(1, tree.n_links), 2, replace=False))
        T = poses[first] @ transform(exp(rng.normal(size=3)), rng.normal(size=3))
        frames = [
            Frame(name, tree.link_names[k], np.linalg.inv(poses[k]) @ T)
            for name, k in (("a", first), ("b", second))
        ]
        locked = ("point", "hinge", "weld", ("x", "rz"), ("y", "z", "rx", "ry"))[seed % 5]
        machine = assemble(
            "random machine",
            tree.links,
            tree.joints,
            [*tree.frames, *frames],
            loops=[Loop("a", "b", locked)],
            reference=q,
        )
        robot = zveno.Robot(machine)
        try:
            found = mobility(robot)
        except zveno.ZvenoError:
            continue
        if found.status == "regular" and found.margin > 1e-2 and found.mobility:
            return robot


def random_plane_machine(seed: int, locked="point") -> zveno.Robot:
    """Three motors and three dyads of hinges and slides in a tilted plane, closed by construction."""
    rng = np.random.default_rng(seed)
    hinge = Revolute()
    links, bodies = (
        [Link("ground"), Link("carrier"), Link("crank0"), Link("crank1")],
        ["carrier", "crank0", "crank1"],
    )
    tilt = transform(exp(rng.normal(size=3)), rng.normal(size=3))

    def joint(name, parent, child):
        slides = name[0] in "pq" and rng.uniform() < 0.4
        angle = rng.uniform(-3, 3)
        kind = Prismatic((np.cos(angle), np.sin(angle), 0.0)) if slides else hinge
        return Joint(name, parent, child, kind, at(*rng.uniform(-1, 1, size=2)))

    joints = [Joint("carry", "ground", "carrier", Revolute((0.6, 0.0, 0.8)), tilt)]
    joints += [joint("a", "carrier", "crank0"), joint("b", "carrier", "crank1")]
    dyads = []
    for k in range(3):
        first, second = (str(name) for name in rng.choice(bodies, 2, replace=False))
        links += [Link(f"x{k}", rod(1.0, 0.5)), Link(f"y{k}", rod(1.0, 0.5))]
        pair = joint(f"p{k}", first, f"x{k}"), joint(f"q{k}", second, f"y{k}")
        joints += pair
        dyads.append((f"x{k}", f"y{k}", rng.uniform(-1, 1, size=2)))
        bodies += [f"x{k}", f"y{k}"]
    tree = assemble("plane machine", links, joints)
    q = zveno.Robot(tree).random(1, rng)[0]
    poses = dict(zip(tree.link_names, zveno.Robot(tree).link_poses(q), strict=True))
    frames, loops = [], []
    for k, (x, y, place) in enumerate(dyads):
        point = poses["carrier"] @ at(*place)
        frames += [
            Frame(f"{name}{k}", link, np.linalg.inv(poses[link]) @ point) for name, link in (("f", x), ("g", y))
        ]
        loops.append(Loop(f"f{k}", f"g{k}", locked))
    return zveno.Robot(
        assemble("plane machine", links, joints, frames, loops=loops, motors=("carry", "a", "b"), reference=q)
    )


def random_ankle(seed: int) -> zveno.Robot:
    """A foot on a universal joint or two skew hinges, and two rods from cranks in any direction."""
    rng = np.random.default_rng(seed)
    links, joints, frames = [Link("shin"), Link("foot", rod(1.0, 0.3))], [], []
    if seed % 2:
        joints.append(Joint("foot", "shin", "foot", Universal(rng.normal(size=3), rng.normal(size=3))))
    else:
        links.append(Link("between", rod(0.5, 0.1)))
        joints.append(Joint("pitch", "shin", "between", Revolute(rng.normal(size=3))))
        joints.append(Joint("roll", "between", "foot", Revolute(rng.normal(size=3)), at(*rng.normal(size=3) * 0.1)))
    for k in range(2):
        links += [Link(f"crank{k}", rod(0.1, 0.1)), Link(f"rod{k}", rod(0.1, 0.5))]
        joints.append(
            Joint(f"motor{k}", "shin", f"crank{k}", Revolute(rng.normal(size=3)), at(*rng.normal(size=3) * 0.3))
        )
        kind = Universal((0, 1, 0), (1, 0, 0)) if rng.uniform() < 0.7 else Spherical()
        joints.append(Joint(f"swing{k}", f"crank{k}", f"rod{k}", kind, at(*rng.normal(size=3) * 0.2)))
    tree = assemble("ankle", links, joints)
    q = zveno.Robot(tree).random(1, rng)[0]
    poses = dict(zip(tree.link_names, zveno.Robot(tree).link_poses(q), strict=True))
    for k in range(2):
        point = poses[f"rod{k}"] @ at(*rng.normal(size=3) * 0.4)
        frames += [
            Frame(f"{name}{k}", link, np.linalg.inv(poses[link]) @ point)
            for name, link in (("end", f"rod{k}"), ("pin", "foot"))
        ]
    loops = [Loop(f"end{k}", f"pin{k}") for k in range(2)]
    return zveno.Robot(
        assemble("ankle", links, joints, frames, loops=loops, motors=("motor0", "motor1"), reference=q)
    )
