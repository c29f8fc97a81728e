"""`windtunnel ui`: running and finished runs of this host in a browser. It follows the announcements of processes (`windtunnel.live`)."""
