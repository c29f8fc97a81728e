"""The schema of a fitted model."""

from windtunnel.parts.models.model_record import ModelRecord

SCHEMAS = {"model": ModelRecord}
