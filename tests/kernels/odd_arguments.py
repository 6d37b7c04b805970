"""Calls of a function of q (3,) and p (2, 2) with a result y (3,), usual and unusual; each is made anew."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class Subclass(np.ndarray):
    """An array of another class."""


class Units(np.ndarray):
    """An array with a unit."""

    unit = "deg"


class Convertible:
    """Not an array, but NumPy makes one of it."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


@dataclass
class Call:
    """Arguments of one call."""

    positional: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    """How `numpy.errstate` is set."""


def _unaligned(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    memory[...] = x
    return memory


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def _fortran(x: np.ndarray) -> np.ndarray:
    return np.asfortranarray(x) if x.ndim > 1 else np.repeat(x, 3)[::3]


VALUES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nan": lambda x: np.where(x == x.flat[0], np.nan, x),
    "all nan": lambda x: np.full_like(x, np.nan),
    "inf": lambda x: np.full_like(x, np.inf),
    "both infinities": lambda x: np.where(x > 1, np.inf, -np.inf),
    "huge": lambda x: np.full_like(x, 0.9 * np.finfo(x.dtype).max),
    "tiny": lambda x: np.full_like(x, 2 * np.finfo(x.dtype).tiny),
    "subnormal": lambda x: np.full_like(x, np.finfo(x.dtype).smallest_subnormal),
    "zeros": np.zeros_like,
    "minus zeros": lambda x: -np.zeros_like(x),
}

FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "plain": lambda x: x,
    "other order": _fortran,
    "every other": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[::-1],
    "turned": lambda x: x.T,
    "inside an array": lambda x: np.pad(x, 2)[(slice(2, -2),) * x.ndim],
    "behind other numbers": lambda x: np.concatenate([x.ravel(), x.ravel()])[x.size :].reshape(x.shape),
    "unaligned": _unaligned,
    "bytes swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "dtype with metadata": lambda x: x.astype(np.dtype(x.dtype, metadata={"unit": "m"})),
    **{
        name: lambda x, name=name: x.astype(name)
        for name in (
            "float64",
            "float32",
            "float16",
            "longdouble",
            "int64",
            "int8",
            "uint16",
            "bool",
            "complex128",
            "object",
        )
    },
    "text": lambda x: x.astype(str),
    "dates": lambda x: x.astype("datetime64[s]"),
    "time spans": lambda x: x.astype("timedelta64[s]"),
    "records": lambda x: np.zeros(x.shape, [("a", float), ("b", int)]),
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x),
    "list of arrays": list,
    "ragged": lambda x: [[1.0], [1.0, 2.0]],
    "read-only": _read_only,
    "warns when written": lambda x: np.broadcast_arrays(x, np.zeros((1,) * (x.ndim + 1)))[0][0],
    "subclass": lambda x: x.view(Subclass),
    "units": lambda x: x.view(Units),
    "masked array": lambda x: np.ma.array(x),
    "masked entries": lambda x: np.ma.array(x, mask=x > 1),
    "convertible": Convertible,
    "buffer": lambda x: memoryview(np.ascontiguousarray(x)),
    "no axes": lambda x: np.array(1.5, x.dtype),
    "number": lambda x: 1.5,
    "NumPy's number": lambda x: np.float64(1.5),
    "None": lambda x: None,
    "word": lambda x: "x",
    "mapping": lambda x: {"a": 1},
    "too short": lambda x: x[:-1].copy(),
    "too long": lambda x: np.concatenate([x, x]),
    "axis in front": lambda x: x[None].copy(),
    "axis behind": lambda x: x[..., None].copy(),
    "batch": lambda x: np.stack([x, 2 * x]),
    "batch of three": lambda x: np.stack([x] * 3),
    "empty batch": lambda x: np.empty((0, *x.shape), x.dtype),
    "same for all": lambda x: np.broadcast_to(x.flat[0], x.shape),
    "many axes": lambda x: x.reshape((1,) * 20 + x.shape),
    **VALUES,
}

OUTPUTS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Any]] = {
    "plain": lambda y, q, p: y,
    "None": lambda y, q, p: None,
    "tuple": lambda y, q, p: (y,),
    "tuple of None": lambda y, q, p: (None,),
    "two arrays": lambda y, q, p: (y, y.copy()),
    "no arrays": lambda y, q, p: (),
    "too long": lambda y, q, p: np.zeros(4, y.dtype),
    "too short": lambda y, q, p: np.zeros(2, y.dtype),
    "no axes": lambda y, q, p: np.zeros((), y.dtype),
    "axis in front": lambda y, q, p: np.zeros((1, 3), y.dtype),
    "batch": lambda y, q, p: np.zeros((2, 3), y.dtype),
    "empty batch": lambda y, q, p: np.zeros((0, 3), y.dtype),
    "the first input": lambda y, q, p: q,
    "the first input, seen again": lambda y, q, p: q[:],
    "the first input, reversed": lambda y, q, p: q[::-1],
    "in the other input": lambda y, q, p: p.ravel()[:3],
    "at the end of the other input": lambda y, q, p: p.ravel()[1:],
    "same for all": lambda y, q, p: np.lib.stride_tricks.as_strided(y, (3,), (0,)),
    **{
        name: lambda y, q, p, name=name: FORMS[name](y)
        for name in (
            *("other order", "every other", "reversed", "inside an array", "behind other numbers", "unaligned"),
            *(
                "bytes swapped",
                "dtype with metadata",
                "float64",
                "float32",
                "longdouble",
                "int64",
                "bool",
                "complex128",
            ),
            *("object", "text", "list", "read-only", "warns when written", "subclass", "masked array"),
            *("convertible", "number", "word", "mapping"),
        )
    },
}


def _inputs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.array([0.5, 1.5, 2.5], dtype), np.array([[2.0, 0.25], [0.5, 4.0]], dtype)


def _with_form(dtype: Any, first: Callable | None, second: Callable | None) -> Call:
    q, p = _inputs(dtype)
    return Call((first(q) if first else q, second(p) if second else p))


def _with_output(dtype: Any, make: Callable, form: Callable) -> Call:
    q, p = _inputs(dtype)
    q = form(q)
    return Call((q, p), {"out": make(np.zeros(3, dtype), q, p)})


def _neighbours(dtype: Any, shift: int) -> Call:
    """`out` before, behind, or across the first input in one array."""
    memory = np.arange(1, 13).astype(dtype)
    return Call((memory[4:7], _inputs(dtype)[1]), {"out": memory[4 + shift : 7 + shift]})


def _with_errors(dtype: Any, mode: Any, value: Callable, out: bool) -> Call:
    q, p = _inputs(dtype)
    errors = {"all": mode} if isinstance(mode, str) else {"all": "call", "call": mode}
    return Call((value(q), value(p)), {"out": np.zeros(3, dtype)} if out else {}, errors)


def _with_keywords(dtype: Any, **keywords: Any) -> Call:
    return Call(_inputs(dtype), keywords)


def _table() -> dict[str, Callable[[Any], Call]]:
    calls: dict[str, Callable[[Any], Call]] = {}
    for name, form in FORMS.items():
        calls[f"q {name}"] = lambda dtype, form=form: _with_form(dtype, form, None)
        calls[f"p {name}"] = lambda dtype, form=form: _with_form(dtype, None, form)
        calls[f"both {name}"] = lambda dtype, form=form: _with_form(dtype, form, form)
    for form, (name, make) in itertools.product(("plain", "huge", "batch", "list", "float32"), OUTPUTS.items()):
        calls[f"q {form}, out {name}"] = lambda dtype, make=make, form=form: _with_output(dtype, make, FORMS[form])
    for shift in range(-4, 6):
        calls[f"out {shift} elements off"] = lambda dtype, shift=shift: _neighbours(dtype, shift)
    modes = {"ignored": "ignore", "warned of": "warn", "raised": "raise", "printed": "print", "handled": print}
    for (name, value), (how, mode) in itertools.product(VALUES.items(), modes.items()):
        for out in (False, True):
            calls[f"{name}, errors {how}{', out' * out}"] = lambda dtype, mode=mode, value=value, out=out: (
                _with_errors(dtype, mode, value, out)
            )
    return calls


CALLS: dict[str, Callable[[Any], Call]] = {
    **_table(),
    "no arguments": lambda dtype: Call(()),
    "one argument": lambda dtype: Call(_inputs(dtype)[:1]),
    "three arguments": lambda dtype: Call((*_inputs(dtype), np.zeros(3, dtype))),
    "four arguments": lambda dtype: Call((*_inputs(dtype), *_inputs(dtype))),
    "inputs by keyword": lambda dtype: Call(_inputs(dtype)[:1], {"p": _inputs(dtype)[1]}),
    "unknown keyword": lambda dtype: _with_keywords(dtype, where=True),
    "dtype": lambda dtype: Call(_inputs(dtype), {"dtype": float}),
    "out and another": lambda dtype: _with_keywords(dtype, out=np.zeros(3, dtype), casting="unsafe"),
    "another and out": lambda dtype: _with_keywords(dtype, order="C", out=np.zeros(3, dtype)),
    "name made at run time": lambda dtype: _with_keywords(dtype, **{"".join(["o", "u", "t"]): np.zeros(3, dtype)}),
    "too few and out": lambda dtype: Call(_inputs(dtype)[:1], {"out": np.zeros(3, dtype)}),
}
"""Calls by what is unusual about them; each takes the dtype of the kernel."""
