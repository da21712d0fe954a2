"""What operators see of a running installation: its log, its metrics and its traces.

Owns the wiring of structlog, prometheus-client and OpenTelemetry; refuses to slow or fail what it watches.
"""
