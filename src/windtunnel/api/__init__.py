"""Public names for programs beside Windtunnel, as `windtunnel share` is: a module for each subject. What is here stays, or changes with a
line in the changelog; nothing else of the package is public, except for what `windtunnel` itself exports."""
