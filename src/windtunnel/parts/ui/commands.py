"""The command `windtunnel ui`. It imports what it needs when it runs."""

from windtunnel.parts.ui.ui_command import ui

MEASURE = (ui,)
