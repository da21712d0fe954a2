"""Running a command to its end: what it answers, what it refuses, a reader that left, and Ctrl-C.

Refuses tracebacks for all of these.
"""

import os
import sys
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError
from rest_framework.exceptions import APIException

from poimen_site.cli.faults import BROKEN_PIPE, FAILURE, INTERRUPTED, Fault, fault_of, lines_of
from poimen_site.cli.session import Session
from poimen_site.errors import is_database_unavailable
from workflows.audit import bound


def exit_code_of(session: Session, command: Callable[[], int]) -> int:
    """Run ``command`` as what comes from this shell; returns the exit code, after saying what went wrong.

    Raises what nobody expected, and ``OperationalError`` if there is no database to begin with.
    """
    try:
        with bound(session.origin()):
            code = command()
        session.stdout.flush()
        return code
    except Fault as fault:
        return _told(session, fault)
    except APIException as error:
        return _told(session, fault_of(error))
    except BrokenPipeError:
        # Nobody reads any more; the interpreter must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (DatabaseError, InterfaceError) as error:
        if not is_database_unavailable(error) or not session.is_json:
            raise  # told by manage.py
        return _told(session, Fault("the database cannot be reached", exit_code=FAILURE))


def _told(session: Session, fault: Fault) -> int:
    if session.is_json:
        session.document(fault.as_json())
    else:
        for number, line in enumerate(lines_of(fault)):
            session.complain(line if number else f"poimen: {line}")
    return fault.exit_code
