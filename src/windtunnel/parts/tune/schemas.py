"""The schemas of what a tuning writes."""

from windtunnel.parts.tune.tuning_record import FinalRecord, TrialRecord, TuningRecord

SCHEMAS = {"tuning": TuningRecord, "tuning-trial": TrialRecord, "tuning-final": FinalRecord}
