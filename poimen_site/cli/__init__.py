"""The command line: what ``manage.py poimen`` and ``manage.py poimen_start`` do, on the database itself.

Refuses to know better than REST: it acts through the same functions, as a person in a role, and is audited like them.
"""
