"""One state by a built-in function: equal to the call through the ufunc in all it returns, raises and warns."""

from __future__ import annotations

import contextlib
import inspect
import io
import pickle
import sys
import warnings

import numpy as np
import pytest

import zveno
from kernels.odd_arguments import CALLS, Call
from kernels.programs import compile, mixed
from kernels.single_calls import made, owner, several
from kernels.test_gufunc import guarded
from zveno.kernels import _single_call as interpreter
from zveno.kernels import _single_call as single
from zveno.kernels._calls import UfuncCall
from zveno.kernels.builder import Builder
from zveno.kernels.compile import compiled_structured
from zveno.kernels.trace import trace

pytestmark = pytest.mark.skipif(interpreter.interpreter() is None, reason="the ufunc is used for every call here")


@pytest.fixture(scope="module", params=[np.float64, np.float32], ids=["double", "single"])
def kernel(request):
    return made(lambda q, p: (q * p[0, 0]) / p[1, 1] + q[0] * q[1] * p[0, 1], request.param, q=(3,), p=(2, 2))


@pytest.fixture
def ufunc_calls(kernel, monkeypatch):
    """Arguments of the calls that went through the ufunc."""
    seen = []
    ufunc = owner(kernel)._ufunc

    def recorded(*arrays, **options):
        seen.append(arrays)
        return ufunc(*arrays, **options)

    monkeypatch.setattr(owner(kernel), "_ufunc", recorded)
    return seen


def _bytes(x):
    """The numbers as bytes; those of long doubles end in padding that means nothing."""
    if x.dtype == object:
        return None
    plain = {np.dtype(np.longdouble): np.float64, np.dtype(np.clongdouble): np.complex128}.get(x.dtype)
    return (x if plain is None else x.astype(plain)).tobytes()


def told(function, call: Call):
    """All that can be observed of a call."""
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        with np.errstate(**call.errors):
            try:
                result = function(*call.positional, **call.keywords)
            except Exception as error:
                result = type(error), str(error), type(error.__cause__)
    out = call.keywords.get("out")
    arrays = [x for x in (*call.positional, out, result) if isinstance(x, np.ndarray | np.generic)]
    return (
        type(result),
        result if isinstance(result, tuple) else None,
        result is out,
        [(type(x), x.dtype, x.shape, x.strides, x.flags.num, _bytes(x)) for x in arrays],
        [(w.category, str(w.message)) for w in caught],
        printed.getvalue(),
    )


def test_the_table_is_long_enough():
    assert len(CALLS) >= 200


def test_the_same_as_through_the_ufunc(kernel):
    for name, call in CALLS.items():
        assert told(kernel, call(kernel.dtype)) == told(owner(kernel), call(kernel.dtype)), name


WITHOUT_UFUNC = (
    *("q plain", "q read-only", "q behind other numbers", "q all nan"),
    *("out -3 elements off", "out 3 elements off", "q warns when written"),
    *("q plain, out plain", "q plain, out behind other numbers"),
)
WITH_UFUNC = (
    *("q every other", "q unaligned", "q bytes swapped", "q subclass", "q int64"),
    *("p other order", "p axis in front", "q dtype with metadata"),
    *("q plain, out the first input", "q plain, out in the other input"),
    *("out -2 elements off", "out 2 elements off", "q plain, out tuple"),
    *("q plain, out warns when written", "q plain, out unaligned"),
    *("huge, errors ignored", "zeros, errors ignored", "tiny, errors ignored"),
    *("huge, errors ignored, out", "q plain, out every other"),
)


def test_which_calls_need_no_ufunc(ufunc_calls, kernel):
    for name in (*WITHOUT_UFUNC, *WITH_UFUNC):
        ufunc_calls.clear()
        call = CALLS[name](kernel.dtype)
        with np.errstate(**call.errors), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernel(*call.positional, **call.keywords)
        assert bool(ufunc_calls) == (name in WITH_UFUNC), name


def test_flags_of_earlier_calculations_are_not_reported(kernel, ufunc_calls):
    q, p = np.ones(3, kernel.dtype), np.ones((2, 2), kernel.dtype)
    with np.errstate(all="ignore"):
        np.ones(1) / 0.0
        np.sqrt(-np.ones(1))
    with np.errstate(all="raise"):
        kernel(q, p)
    assert not ufunc_calls


# ------------------------------------------------------------------------------------ results of every kind


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_and_several_results(dtype):
    kernel = compile(trace(several, {"x": (3,), "s": ()}), dtype)
    x, s = np.array([1, 2, 3], dtype), np.array(0.5, dtype)
    fast, slow = kernel(x, s), owner(kernel)(x, s)
    assert type(fast) is type(slow) is tuple
    for a, b in zip(fast, slow, strict=True):
        assert type(a) is type(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.array_equal(a, b)
    assert type(fast[1]) is dtype


def test_one_number():
    kernel = made(lambda x, y: x @ y, x=(3,), y=(3,))
    x = np.array([1.0, 2.0, 3.0])
    assert type(kernel(x, x)) is np.float64
    assert kernel(x, x) == 14.0
    out = np.zeros(())
    assert kernel(x, x, out=out) is out
    assert out == 14.0


def test_arguments_without_elements_and_long_programs_stay_with_the_ufunc(monkeypatch):
    assert type(made(lambda x, y: (x, y), x=(0,), y=(2,)).__call__) is UfuncCall
    monkeypatch.setattr(single, "LONGEST", 3)
    kernel = compile(mixed())
    assert type(kernel.__call__) is UfuncCall
    assert kernel(np.ones(3), np.eye(2))[0].shape == (2,)


def scaled(x, factor):
    return factor * x


def scaling(program: Builder, n: int, factors: tuple[float, ...]) -> None:
    x, y = program.input("x", (n,)), program.output("y", (n,))
    table = program.table("factors", np.array(factors, float).reshape(n, 1))
    with program.each(n) as i:
        y[i] = program.step(scaled, x[i], table[i])


def test_structured_programs():
    """Kernels of one structure share their code, not their data."""
    kernels = [compiled_structured(scaling, n, tuple(range(n, 2 * n))) for n in (1, 3, 6)]
    for kernel in kernels:
        assert type(kernel.__call__) is not UfuncCall
        (n,) = kernel.inputs[0].shape
        x = np.linspace(1, 2, n)
        assert np.array_equal(kernel(x), x * np.arange(n, 2 * n))
        assert np.array_equal(kernel(x), owner(kernel)(x))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect")
@pytest.mark.parametrize("at_end", [False, True])
def test_memory_outside_the_arrays_is_not_touched(kernel, at_end):
    size = kernel.dtype.itemsize
    q, p, y = (
        guarded(count * size, at_end).view(kernel.dtype).reshape(shape)
        for count, shape in ((3, 3), (4, (2, 2)), (3, 3))
    )
    q[...], p[...] = 1.5, 2.5
    assert kernel(q, p, out=y) is y
    np.testing.assert_array_equal(y, kernel(q.copy(), p.copy()))


# ------------------------------------------------------------------------------------ where layouts are not known


@pytest.mark.parametrize("name", ["DATA", "RANK", "SHAPE", "DTYPE", "FLAGS", "CONTIGUOUS", "ALIGNED", "WRITEABLE"])
def test_another_layout_is_noticed(monkeypatch, name):
    value = getattr(interpreter, name)
    monkeypatch.setattr(interpreter, name, value + 8 if name.isupper() and value % 8 == 0 and value < 100 else 0x2)
    assert interpreter.interpreter.__wrapped__() is None


def test_another_head_or_numpy_is_noticed(monkeypatch):
    assert interpreter.interpreter.__wrapped__() is not None
    assert not any(interpreter._has_known_layout(x, object.__basicsize__ + 8) for x in interpreter._samples())
    with monkeypatch.context() as patch:
        patch.setattr(interpreter, "_ABI_VERSION", 0x03000000)
        assert interpreter.interpreter.__wrapped__() is None
    with monkeypatch.context() as patch:
        patch.setattr(interpreter.platform, "machine", lambda: "aarch64")
        assert interpreter.interpreter.__wrapped__() is None
    monkeypatch.setattr(interpreter, "_makes_arrays", lambda table: False)
    assert interpreter.interpreter.__wrapped__() is None


def test_then_the_ufunc_stays(monkeypatch):
    monkeypatch.setattr(single, "call_one_address", lambda: None)
    kernel = compile(mixed())
    assert type(kernel.__call__) is UfuncCall
    q, p = np.ones(3), np.eye(2)
    with_function = compile(pickle.loads(pickle.dumps(kernel.program)))
    for a, b in zip(kernel(q, p), with_function(q, p), strict=True):
        assert np.array_equal(a, b)


# ------------------------------------------------------------------------------------ what is shown


def test_signatures():
    robot = zveno.load("planar2")
    kernel = robot.kernel("inverse_dynamics")
    assert list(inspect.signature(kernel).parameters) == ["arrays", "out"]
    assert str(inspect.signature(kernel.__call__)) == "(q, v, a, /, *, out=None)"
    assert kernel.__call__.__name__ == "inverse_dynamics"
    state = np.zeros((3, 2))
    shown = inspect.signature(robot.inverse_dynamics), robot.inverse_dynamics.__doc__
    robot.inverse_dynamics(*state)
    assert shown == (inspect.signature(robot.inverse_dynamics), robot.inverse_dynamics.__doc__)
    assert set(shown[0].parameters) == {"q", "v", "a", "external", "joint_friction", "out"}
    q, v, a = state
    assert np.array_equal(robot.inverse_dynamics(q=q, v=v, a=a), robot.inverse_dynamics(*state))
