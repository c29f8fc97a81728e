"""Axio's formats, as axio-project/axio-emulator has them: read, written, and its rule beside a diagnosis.

config           a configuration, in its colon form or in TOML
config_keys      its keys, and the conversion of each
scenario         the scenario that a configuration becomes
workspaces       its workspaces on CPUs
roce             what it says about RoCE
scenario_files   a scenario in the colon form
table            the table of its log
log              the stages of a run from tables, and back
workspace_lines  the lines of its log about each workspace
metrics_lines    axio.metrics/v1
report           report.rpt of its monitoring
rule             what its rule concludes about the stages of a run
import_command   `windtunnel import axio`

For the rooms: `commands` has the command for `cli`, `as_option` what `--as axio` does, `host_counters` reads report.rpt for `exchange`. For
diagnoses: `diagnosis` has the verdict of the rule.
"""
