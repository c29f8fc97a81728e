"""Edit and start: a scenario file in a form and as text, checked while the user types, saved under a new name, and started.

scenario_directory   files below one directory, and nothing outside it
origin               the text with which an edit begins: a file, a shipped scenario, a run
form                 the form, from the schema of scenarios and a text
change               a change of one key or table in a text; the rest stays as it is
scenario_check       the result of `windtunnel check` for a text, with the placement
start                child processes `windtunnel run`
routes               the pages
"""
