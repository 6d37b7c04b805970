"""Temporary: replaced by the real module."""

import numpy as np

sin, cos, tan, sqrt, exp, log, tanh, floor, sign = (
    np.sin,
    np.cos,
    np.tan,
    np.sqrt,
    np.exp,
    np.log,
    np.tanh,
    np.floor,
    np.sign,
)
asin, acos, atan, minimum, maximum, abs = np.arcsin, np.arccos, np.arctan, np.minimum, np.maximum, np.abs


def atan2(y, x):
    if np.iscomplexobj(y) or np.iscomplexobj(x):
        y, x = complex(y), complex(x)
        return np.arctan2(y.real, x.real) + 1j * (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
    return np.arctan2(y, x)


def select(c, a, b):
    return np.where(c, a, b)[()]
