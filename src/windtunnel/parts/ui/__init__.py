"""`windtunnel ui`: running and finished runs of this host in a browser. It follows the announcements of processes (`windtunnel.live`).

`assets` has uPlot 1.6.32, htmx.org 2.0.11 and htmx-ext-sse 2.2.4, each with its licence. To take a newer one, copy the files of its npm
package, and look at the pages. For the rooms: `commands` has the command.
"""
