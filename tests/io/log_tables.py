"""A short motion of two joints as columns and as text, and what every recording of it must be read as."""

import numpy as np
import pytest

N = 300
T = 2e-3 * np.arange(N)
Q = np.stack([np.sin(T), np.cos(3 * T)], axis=1)
V = np.stack([np.cos(T), -3 * np.sin(3 * T)], axis=1)
TAU = np.stack([5.0 + Q[:, 0], 3.0 * Q[:, 1]], axis=1)


def table(**columns):
    return {name: np.asarray(values, dtype=float) for name, values in columns.items()}


def plain():
    return table(t=T, q1=Q[:, 0], q2=Q[:, 1], dq1=V[:, 0], dq2=V[:, 1], tau1=TAU[:, 0], tau2=TAU[:, 1])


def csv_text(columns, delimiter=",", decimal=".", end="\n"):
    rows = [delimiter.join(columns)]
    rows += [
        delimiter.join(repr(float(x)).replace(".", decimal) for x in row)
        for row in zip(*columns.values(), strict=True)
    ]
    return end.join(rows) + end


def check(log, velocity=True, atol=0.0):
    whole = log.arrays()
    assert whole.t == pytest.approx(T - T[0], abs=1e-6)
    assert abs(whole.q - Q).max() <= atol
    assert abs(whole.tau - TAU).max() <= atol
    assert log.has_velocity == velocity
    if velocity:
        assert abs(whole.v - V).max() <= atol


def said(log):
    return "\n".join(log.account)
