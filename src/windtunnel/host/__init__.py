"""The host of a run: its facts, and what they mean for a measurement."""
