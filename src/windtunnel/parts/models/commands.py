"""The commands of models. They import what they need when they run."""

from windtunnel.parts.models.model_command import fit, predict, validate, what_if

MODEL = (("model", "Fit models to studies and predict with them.", (fit, predict, what_if, validate)),)
