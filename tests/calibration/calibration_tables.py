"""Tables of joint values and readings as strangers write them, and what they must be read as."""

import numpy as np
from calibration_arms import FAR, measured_puma

from zveno.calibration.files import campaign_from
from zveno.calibration.measurements import RelativePose
from zveno.io.tables import parse_measurements

SIX = range(1, 7)
NAMES = [f"joint{k}" for k in SIX]


def measured_poses():
    """A robot, joint values, and positions and rotations of its tool."""
    sigma = {"position": 5e-5, "rotation": 1e-4}
    robot, campaign = measured_puma(RelativePose(), 20, sigma, {"tracker": FAR})
    y = campaign.y.reshape(len(campaign.q), 12)
    return robot, campaign.q, y[:, :3], y[:, 3:].reshape(-1, 3, 3)


def lines(columns, separator=",", form=repr):
    return "\n".join(separator.join(form(float(x)) for x in row) for row in np.column_stack(columns)) + "\n"


def same_readings(found, q, p, R=None):
    y, _ = found.measurement.data(found.y, len(found.q))
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    np.testing.assert_allclose(y[:, 0, :3], p, atol=1e-12)
    if R is not None:
        np.testing.assert_allclose(y[:, 0, 3:].reshape(-1, 3, 3), R, atol=1e-9)


def campaign_of(text, robot, kind="relative_pose"):
    return campaign_from(parse_measurements(text, head_needed=False), robot.mechanism, kind)


def poses_of(p, R):
    T = np.tile(np.eye(4), (len(p), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = R, p
    return T
