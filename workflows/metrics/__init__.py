"""What the engine's metrics are made of: counters kept by the clock, and what a scrape reads from the database.

Refuses to count in the workers: a step costs what it costs. Source: subsystem-metrics.
"""
