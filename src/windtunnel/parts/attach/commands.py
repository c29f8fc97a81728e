"""The commands of observations. They import what they need when they run."""

from windtunnel.parts.attach.attach_command import attach
from windtunnel.parts.attach.twin_command import twin

MEASURE = (attach, twin)
