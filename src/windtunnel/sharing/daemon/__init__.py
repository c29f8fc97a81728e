"""The daemon that keeps the pools: `windtunnel share serve`.

keys            every key of its file: type, default, one-line help
read            the file, read and refused as a scenario's
roster          the tenants, their processes and threads
sharing         what is asked of the pools, granted or refused whole, and carried out
autoscale       from what a tenant sees to its weight: pure
core            what is done by itself: the dead and their weight, new threads, strayed ones, the autoscaler
events          what happened, for those who watch
pvcc            PvCC's text protocol
api, http       the HTTP/JSON API, and the server under it with its limits
metrics         OpenMetrics
standing        where the daemon itself runs
state           what survives a restart
rights          what the daemon may do, and what it gives up
"""
