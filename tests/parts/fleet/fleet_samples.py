"""What tests of the spine ask fleets for."""

APART = "windtunnel.parts.fleet"
