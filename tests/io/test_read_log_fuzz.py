"""Recordings of any content are read or refused with an error of ours; what is read is finite and in order."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zveno

CELLS = st.one_of(
    st.floats(-10, 10).map(repr),
    st.sampled_from(["", "nan", "1e293", "x", '"', "1,5", "0", "-1", "1e999", "#", "\x00", "1_0", " 3 "]),
)
NAMES = st.sampled_from(
    ["t", "q1", "q2", "tau1", "tau2", "dq1", "dq2", "time [ms]", "x", "", "current_1", "q1 (deg)"]
)


@pytest.mark.attack
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(NAMES, min_size=1, max_size=9), rows=st.lists(st.lists(CELLS, max_size=9), max_size=30))
def test_tables_of_anything(tmp_path, names, rows):
    file = tmp_path / "log.csv"
    file.write_text("\n".join([",".join(names), *(",".join(row) for row in rows)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            log = zveno.identification.read_log(file, zveno.load("planar2"), gains=1.0)
        except zveno.ZvenoError:
            return
    whole = log.arrays()
    assert np.isfinite(whole.q).all()
    assert np.isfinite(whole.tau).all()
    assert (np.diff(whole.t) > 0).all()
