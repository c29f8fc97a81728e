"""Every run, study, search, comparison and tuning below a directory, found by words, keys and metrics, and by scenario."""
