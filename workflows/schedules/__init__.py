"""Workflows that start by the calendar: when, under which rules, and what became of every due instant.

``cron`` reads cron text and needs no database; ``firing`` is the clock's part, ``changes`` what people do.
"""
