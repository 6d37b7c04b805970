"""What to measure next: predictions that come true."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth

from zveno.calibration.estimate import calibrate
from zveno.calibration.identifiability.analysis import identifiability
from zveno.calibration.measurements import RelativePosition, Sockets
from zveno.calibration.measurements.campaigns import Campaign

SIGMA = 1e-4


@pytest.fixture(scope="module")
def few():
    """Two dozen postures around one: enough for the rank, poor for accuracy."""
    robot = arm("puma560")
    rng = np.random.default_rng(1)
    kind = RelativePosition(sigma=SIGMA)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    q = 0.4 * robot.random(24, 3)
    return robot, kind, values, simulated(robot, kind, values, 24, rng, {"position": SIGMA}, {"tracker": FAR}, q=q)


def test_measuring_what_was_advised_brings_what_was_promised(few):
    robot, kind, values, campaign = few
    found = calibrate(robot, campaign, folds=0)
    advice = found.advice
    assert advice is not None
    assert advice.chosen < 0.9 * advice.others < 0.9 * advice.now
    assert advice.q.shape == (10, 6)
    rng = np.random.default_rng(5)
    for q, promised in ((advice.q, advice.chosen), (robot.random(10, 8), advice.others)):
        more = simulated(robot, kind, values, 10, rng, {"position": SIGMA}, {"tracker": FAR}, q=q)
        both = Campaign(kind, np.concatenate([campaign.q, q]), np.concatenate([campaign.y, more.y]))
        after = calibrate(robot, both, folds=0).advice
        assert after is not None
        assert after.now == pytest.approx(promised, rel=0.1 if q is advice.q else 0.5)
    assert f"would make it {1e3 * advice.chosen:.2g} mm" in found.verdict


def test_known_distances_that_limit_the_scale_are_named():
    robot = arm("puma560")
    rng = np.random.default_rng(3)
    kind = Sockets(sigma_distance=1e-3)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    campaign = simulated(robot, kind, values, 150, rng, {"position": SIGMA})
    loose = calibrate(robot, campaign, folds=0)
    assert loose.advice is not None
    assert loose.advice.distances is not None
    assert loose.advice.distances < 0.5 * loose.advice.now
    assert "distances between targets" in loose.verdict
    assert set(loose.advice.groups) <= set(campaign.groups)
    tight = calibrate(robot, Campaign(Sockets(sigma_distance=1e-4), campaign.q, groups=campaign.groups), folds=0)
    assert tight.advice is not None
    assert tight.advice.now == pytest.approx(loose.advice.distances, rel=0.1)
