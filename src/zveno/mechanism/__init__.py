"""Links, joints and the tree they form."""

from .assemble import assemble as assemble
from .joints import JOINT_TYPES as JOINT_TYPES
from .joints import Continuous as Continuous
from .joints import Fixed as Fixed
from .joints import Free as Free
from .joints import Helical as Helical
from .joints import JointType as JointType
from .joints import Planar as Planar
from .joints import Prismatic as Prismatic
from .joints import Revolute as Revolute
from .joints import Spherical as Spherical
from .joints import Universal as Universal
from .loops import Loop as Loop
from .mechanism import DEFAULT_GRAVITY as DEFAULT_GRAVITY
from .mechanism import Mechanism as Mechanism
from .parts import Drive as Drive
from .parts import Extra as Extra
from .parts import Frame as Frame
from .parts import Joint as Joint
from .parts import Limits as Limits
from .parts import Link as Link
from .parts import Mimic as Mimic
from .parts import Spring as Spring
from .tree import Tree as Tree
