"""Walking: the public names and where each comes from."""

from ._simulate_walk import simulate_walk as simulate_walk
from ._torques import Gains as Gains
from ._torques import Weights as Weights
from .dynamic_gait import DynamicGait as DynamicGait
from .feet import Foot as Foot
from .feet import default_stance as default_stance
from .machine import Push as Push
from .machine_file import WalkingMachine as WalkingMachine
from .result import Walk as Walk
from .sensing import Sensors as Sensors
from .static_gait import StaticGait as StaticGait
from .support import stability_margin as stability_margin
from .support import support_polygon as support_polygon
from .terrain import uneven_ground as uneven_ground
