"""The schema of the JSON of a diagnosis."""

from windtunnel.parts.diagnose.model import Diagnosis

SCHEMAS = {"diagnosis": Diagnosis}
