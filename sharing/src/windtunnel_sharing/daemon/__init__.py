"""The daemon that maintains the pools: `windtunnel share serve`.

keys              every key of its file: type, default, one-line help
roster            the tenants, their processes and threads
allocation        requests to the pools: granted or refused as a whole, and carried out
autoscale         computes a tenant's weight from its reports: pure
core              the upkeep: ended processes and their weight, new threads, strayed ones, the autoscaler
events            the events, for those who watch
find_tenant       which tenant a process is
pvcc              PvCC's text protocol
api, http         the HTTP/JSON API, and its server with limits
api_page          the API as a page for people
bodies            the bodies of requests and responses
build_bodies      makes the bodies of responses
client            the client of the command line
metrics           OpenMetrics
daemon_placement  where the daemon itself runs
state, lock       what survives a restart; the directory of the daemon, one at a time
rights            which rights the daemon keeps, and which it drops
"""
