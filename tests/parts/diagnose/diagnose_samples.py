"""What tests of the spine ask diagnoses for."""

READING_COMMAND = "diagnose"
COMMANDS = ("diagnose",)
