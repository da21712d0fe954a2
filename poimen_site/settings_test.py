"""The settings of the test suite: those of the product, in a home of their own and with quick password hashes.

It refuses to touch the default home: without POIMEN_HOME, a run works in ``var/test/<pid>``, which conftest.py removes.
"""

import os
from pathlib import Path

THROWAWAY_HOMES = Path(__file__).resolve().parent.parent / "var" / "test"
# In the environment, so that test workers and the processes that tests start find the same home.
os.environ.setdefault("POIMEN_HOME", str(THROWAWAY_HOMES / str(os.getpid())))

from poimen_site.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
POIMEN_REQUESTS_PER_MINUTE = 0  # the tests about it say how many
