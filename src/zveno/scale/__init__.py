"""The same work on all cores, on a cluster, and over a night: `fold`, and what cuts work into pieces."""

from .fold import fold as fold
from .outputs import filed as filed
from .outputs import read_filed as read_filed
from .outputs import read_manifest as read_manifest
from .pieces import cut as cut
from .pieces import stream as stream
