"""An index of every run, study, search, comparison and tuning below a directory: by words, keys, metrics and scenario."""
