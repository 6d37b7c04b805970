"""Walking: the public names and where each comes from."""

from ._simulate_walk import simulate_walk as simulate_walk
from .feet import Foot as Foot
from .gaits.dynamic import DynamicGait as DynamicGait
from .gaits.static import StaticGait as StaticGait
from .machine import Push as Push
from .machine_file import WalkingMachine as WalkingMachine
from .sensing import Sensors as Sensors
from .stance import default_stance as default_stance
from .support import stability_margin as stability_margin
from .support import support_polygon as support_polygon
from .terrain import uneven_ground as uneven_ground
from .walk_result import Walk as Walk
from .whole_body_torques import Gains as Gains
from .whole_body_torques import Weights as Weights
