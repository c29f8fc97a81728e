"""Edit and start: a scenario file in a form and as text, checked while one types, saved under a new name, started from there.

below      files below one directory, and nothing outside it
origin     what an edit begins with: a file, a shipped scenario, a run
form       the form, from the schema of scenarios and a text
change     one key or table of a text changed, the rest kept as it is
checked    what `windtunnel check` says of a text, with the placement
start      child processes `windtunnel run`
routes     the pages
"""
