"""The interpreter that runs specs durably: claim, drive, commit, park, recover.

``program`` compiles a spec, ``line`` is a claimed branch in memory, ``driver`` walks it from state to state,
``store`` owns every SQL statement of the hot path, ``pump`` is the worker, ``clock`` what time and death bring about.
"""
