"""Hand-made and random programs, and an evaluator that is independent of the package's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from zveno.kernels import cache
from zveno.kernels import compile as door
from zveno.kernels.builder import Outline
from zveno.kernels.evaluate import evaluate as run
from zveno.kernels.kernel import Kernel
from zveno.kernels.program import ARITY, Argument, Graph, Op, Program


class Builder:
    """Writes a program node by node: `b.add(Op.MUL, x, y)` returns the number of the new node."""

    def __init__(self, name: str, **inputs: tuple[int, ...]):
        self.name = name
        self.inputs = tuple(Argument(key, shape) for key, shape in inputs.items())
        self.nodes: list[tuple[int, tuple[int, int, int], float]] = []

    def add(self, op: Op, *args: int, value: float = 0.0) -> int:
        self.nodes.append((int(op), (*args, -1, -1, -1)[:3], value))
        return len(self.nodes) - 1

    def const(self, value: float) -> int:
        return self.add(Op.CONST, value=value)

    def read(self, name: str) -> list[int]:
        """One node per element of an input."""
        number = [argument.name for argument in self.inputs].index(name)
        return [self.add(Op.INPUT, number, j) for j in range(self.inputs[number].size)]

    def program(self, **outputs: tuple[tuple[int, ...], list[int]]) -> Program:
        """The program with outputs given as name=(shape, nodes)."""
        op, args, value = zip(*self.nodes, strict=True) if self.nodes else ((), (), ())
        graph = Graph(
            name=self.name,
            inputs=self.inputs,
            outputs=tuple(Argument(key, shape) for key, (shape, _) in outputs.items()),
            op=np.array(op, dtype=np.uint8),
            args=np.array(args, dtype=np.int32).reshape(-1, 3),
            value=np.array(value, dtype=np.float64),
            results=tuple(np.array(nodes, dtype=np.int32) for _, nodes in outputs.values()),
        )
        return Program.straight(graph)


def unary(op: Op) -> Program:
    """y = op(x) of one scalar."""
    b = Builder(op.name.lower(), x=())
    return b.program(y=((), [b.add(op, *b.read("x"))]))


def binary(op: Op) -> Program:
    """z = op(x, y) of two scalars."""
    b = Builder(op.name.lower(), x=(), y=())
    return b.program(z=((), [b.add(op, *b.read("x"), *b.read("y"))]))


def mixed() -> Program:
    """Two inputs, two outputs of different rank, with a constant and an input among the results."""
    b = Builder("mixed", q=(3,), p=(2, 2))
    q, p = b.read("q"), b.read("p")
    sines = [b.add(Op.SIN, x) for x in q]
    cosines = [b.add(Op.COS, x) for x in q]
    products = [b.add(Op.MUL, s, c) for s, c in zip(sines, reversed(cosines), strict=True)]
    total = products[0]
    for x in (*products[1:], *p):
        total = b.add(Op.ADD, total, x)
    one = b.const(1.0)
    matrix = [b.add(Op.MUL, total, sines[0]), q[1], one, *p[:3]]
    return b.program(y=((2,), [total, b.add(Op.SUB, total, cosines[2])]), m=((2, 3), matrix))


_SMOOTH = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.ADD, Op.MUL, Op.SUB, Op.MUL, Op.ADD)
_FUNCTIONS = (
    *(Op.SIN, Op.COS, Op.TAN, Op.SQRT, Op.ABS, Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2, Op.EXP, Op.LOG, Op.TANH),
    *(Op.MINIMUM, Op.MAXIMUM, Op.DIV, Op.SELECT),
)
_STEPS = (Op.LESS, Op.LESS_EQUAL, Op.EQUAL, Op.AND, Op.OR, Op.NOT, Op.SIGN, Op.FLOOR)


def random_program(seed: int, n: int, n_in: int = 8, n_out: int = 8, smooth: bool = True) -> Program:
    """A program of n operations whose values stay near 1, so that rounding errors do not explode.

    With `smooth=False` all operations occur; those with steps only read inputs and each other, because a
    rounding error in front of a step would be a large error behind it.
    """
    rng = np.random.default_rng(seed)
    b = Builder(f"random{seed}", x=(n_in,), y=(2, 3))
    alive = b.read("x") + b.read("y") + [b.const(float(c)) for c in rng.uniform(-1, 1, 4)]
    exact = list(alive)
    for _ in range(n):
        kind = rng.choice(3, p=[1, 0, 0] if smooth else [0.4, 0.4, 0.2])
        op = Op(rng.choice((_SMOOTH, _FUNCTIONS, _STEPS)[kind]))
        pool = exact if kind == 2 else alive
        recent = pool[-40:] if rng.random() < 0.8 else pool
        operands = [int(recent[i]) for i in rng.integers(len(recent), size=ARITY[op])]
        if op is Op.SELECT:
            operands[0] = int(rng.choice(exact))
        node = b.add(op, *operands)
        if kind == 2:
            exact.append(node)
        elif op in (Op.ADD, Op.SUB, Op.MUL):  # pull back towards 1
            node = b.add(Op.MUL, node, b.const(float(rng.choice([-0.6, 0.6]))))
        alive.append(node)
    return b.program(z=((n_out,), alive[-n_out:]), w=((), [alive[-n_out // 2]]))


def evaluate(program: Program, *arrays, dtype=np.float64) -> tuple[np.ndarray, ...]:
    """Run a program with NumPy, one operation on the whole batch at a time."""
    arrays = [np.asarray(a, dtype=dtype) for a in arrays]
    ranks = [len(argument.shape) for argument in program.inputs]
    batch = np.broadcast_shapes(*(a.shape[: a.ndim - r] for a, r in zip(arrays, ranks, strict=True)))
    flat = [
        a.reshape(*a.shape[: a.ndim - r], argument.size)
        for a, r, argument in zip(arrays, ranks, program.inputs, strict=True)
    ]
    values: list = []

    def true(x):
        return np.asarray(x) != 0

    functions = {
        Op.NEG: np.negative, Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.divide,
        Op.SQRT: np.sqrt, Op.SIN: np.sin, Op.COS: np.cos, Op.TAN: np.tan, Op.ASIN: np.arcsin,
        Op.ACOS: np.arccos, Op.ATAN: np.arctan, Op.ATAN2: np.arctan2, Op.EXP: np.exp, Op.LOG: np.log,
        Op.TANH: np.tanh, Op.ABS: np.abs, Op.SIGN: np.sign, Op.FLOOR: np.floor, Op.MINIMUM: np.minimum,
        Op.MAXIMUM: np.maximum, Op.LESS: np.less, Op.LESS_EQUAL: np.less_equal, Op.EQUAL: np.equal,
        Op.AND: lambda a, b: true(a) & true(b), Op.OR: lambda a, b: true(a) | true(b),
        Op.NOT: lambda a: ~true(a), Op.SELECT: lambda c, a, b: np.where(true(c), a, b),
    }  # fmt: skip
    for op, args, value in zip(
        program.graph.op.tolist(), program.graph.args.tolist(), program.graph.value, strict=True
    ):
        if op == Op.INPUT:
            values.append(flat[args[0]][..., args[1]])
        elif op == Op.CONST:
            values.append(dtype(value))
        else:
            operands = [values[a] for a in args[: ARITY[Op(op)]]]
            values.append(np.asarray(functions[Op(op)](*operands), dtype=dtype))
    return tuple(
        np.stack([np.broadcast_to(values[node], batch) for node in nodes.tolist()], axis=-1).reshape(
            batch + output.shape
        )
        if output.size
        else np.empty(batch + output.shape, dtype)
        for output, nodes in zip(program.outputs, program.graph.results, strict=True)
    )


def compile(program: Program, dtype="float64", lanes: int | None = None) -> Kernel:
    """A kernel built now and not kept on disk."""
    key, options = f"program {door._Content(program).structure}", door.checked_options(dtype, lanes)
    request = door._Request(key, (cache.__name__,), options, lambda known: (program, Outline({}, ())))
    return request.kernel(request._loaded(*request.built(), from_cache=False))


def load_or_build(key: str, make, dtype="float64", lanes: int | None = None) -> Kernel:
    """A kernel by a key; `make` is called to trace it, a function of the arrays of `mixed`."""
    inputs = {"q": (3,), "p": (2, 2)}
    options, make = door.checked_options(dtype, lanes), door.made_by(make, "mixed", inputs)
    request = door._Request(key, (cache.__name__,), options, make)
    return request.kernel(request.code())


def interpreted(request, code=None):
    """In the place of `_Request.kernel`, where compiling would take most of the time: operation by operation."""
    program = request.make(None)[0]

    def call(*arrays, out=None):
        result = run(program, *arrays)
        if out is None:
            return result
        out[...] = result
        return out

    call._call = call
    return call


def copied_package(folder: Path) -> Path:
    """A copy of the sources of the package, to be changed."""
    root = folder / "zveno"
    shutil.copytree(cache.ROOT, root, ignore=shutil.ignore_patterns("__pycache__", "data"))
    return root
