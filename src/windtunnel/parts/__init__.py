"""Capabilities that one could do without, one folder each. `windtunnel.part_registry` lists them, and says what a part is."""
