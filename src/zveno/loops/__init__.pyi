"""Closed loops: the public names and where each comes from."""

from ..closed_robot import ClosedRobot as ClosedRobot
from ._close import Closure as Closure
from ._close import close as close
from ._mobility import Mobility as Mobility
from ._mobility import mobility as mobility
from ._modes import Modes as Modes
from ._modes import assembly_modes as assembly_modes
