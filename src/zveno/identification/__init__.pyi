"""Identification: the public names and where each comes from."""

from ..io.logs.log import Log as Log
from ..io.logs.read import read_log as read_log
from ..io.logs.read import read_logs as read_logs
from .excitation.plan_excitation import plan_excitation as plan_excitation
from .excitation.recording import simulate_log as simulate_log
from .excitation.result import Excitation as Excitation
from .payload import DriveGains as DriveGains
from .payload import Payload as Payload
from .payload import identify_drive_gains as identify_drive_gains
from .payload import identify_payload as identify_payload
from .recursive import RecursiveLeastSquares as RecursiveLeastSquares
from .result import Identification as Identification
