"""What the index lists of tunings."""

KINDS = {"tuning.json": "tuning"}
