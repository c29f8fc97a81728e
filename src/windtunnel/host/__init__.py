"""The machine that a run runs on: what it is, and what that means for a measurement."""
