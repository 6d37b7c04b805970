"""Simulation: motion over time, constraints, contacts, controllers and drives."""

from .constraints import Constraint as Constraint
from .constraints import FixedDistance as FixedDistance
from .constraints import Hinge as Hinge
from .constraints import LoopClosure as LoopClosure
from .constraints import PointContact as PointContact
from .constraints import PointOnPlane as PointOnPlane
from .constraints import Weld as Weld
from .contacts import GroundContact as GroundContact
from .contacts import JointMotion as JointMotion
from .controllers import PD as PD
from .controllers import ComputedTorque as ComputedTorque
from .controllers import Constant as Constant
from .controllers import Control as Control
from .controllers import Recorded as Recorded
from .controllers import Traced as Traced
from .drives import ServoDrive as ServoDrive
from .dynamics import Constrained as Constrained
from .dynamics import constrained_dynamics as constrained_dynamics
from .dynamics import constraint_rows as constraint_rows
from .events import Event as Event
from .simulate import simulate as simulate
from .trajectory import EventRecord as EventRecord
from .trajectory import Trajectory as Trajectory
