"""The tuner: settings of a scenario that are better than the file's, found by experiment.

goal           the objective, and the SLO that must be met
space          the factors that may change, and which of their points can run here
first          remedies of a diagnosis, and moves that common sense makes, each with its reason
propose        the next candidate, once these are used up: from optuna's model of the trials
sampler        optuna's sampler of these candidates: as TPE suggests, and near the incumbent
rig            one pair of runs, or one run in an open loop, with the real engine
trial          one candidate against the incumbent, until it is better, worse, or out of pairs
tuning_record  tuning.json and trial.json
tuner          all trials of a directory, begun or continued
winner         the winner measured again against the file, and best.toml
sentences      what follows from the trials, in words
charts         their plots
document       a tuning, or its plan, as a document
progress       a line for each trial
outcome        what the command writes and says at its end

For the rooms: `commands` has the command for `cli`, `schemas` the schemas of its files, `indexed` what the index lists.
"""
