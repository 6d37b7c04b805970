"""Copies of rows: named and counted once, in one file or in several."""

from dataclasses import replace

import numpy as np
import pytest
from calibration_arms import arm, simulated

from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Distance, Pose, Position, RelativePosition
from zveno.errors import ZvenoWarning

KINDS = (Position(), RelativePosition(), Pose(), Distance(centres=2))


@pytest.mark.parametrize("seed", few(range(12), 3))
def test_copies_in_other_campaigns_are_named_and_count_once(seed):
    """Any rows of the first campaign, in any order, beside rows of their own or alone."""
    rng = np.random.default_rng(seed)
    robot, kind = arm("puma560"), KINDS[seed % len(KINDS)]
    sigma = {noise.name: 1e-4 for noise in kind.noises}
    whole = replace(simulated(robot, kind, np.zeros(50), 60, rng, sigma), name="whole")
    first, copied = rng.permutation(60)[:40], rng.permutation(60)[:30]
    own = np.setdiff1d(np.arange(60), first)
    one, other = replace(whole.only(first), name="one"), replace(whole.only(copied), name="other")
    options = {"folds": 0, "model": CalibrationModel(joint_terms=()), "prior": None, "loss": "none"}
    with pytest.warns(ZvenoWarning, match=r"other: rows .* repeat rows of one; they are left out"):
        found = calibrate(robot, [one, other], **options)
    assert sum(map(len, found.data)) == 40 + np.isin(copied, own).sum()
    with pytest.warns(ZvenoWarning, match=r"again: rows .* \(40 in all\) repeat rows of one"):
        twice = calibrate(robot, [one, replace(one, name="again")], **options)
    np.testing.assert_array_equal(twice.std, calibrate(robot, one, **options).std)
