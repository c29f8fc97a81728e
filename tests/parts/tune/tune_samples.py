"""What tests of the spine ask the tuner for."""

PLANNING_COMMAND = "tune"
COMMANDS = ("tune",)
