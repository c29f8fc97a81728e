"""Reading along while a run flies: OpenMetrics over HTTP.

openmetrics     counters from the engines' windows, as metric families
server          the HTTP server, on loopback unless it is told otherwise
"""
