"""What a Task can do: the registry of activities, the context they get, and the built-in ones (one file each).

An activity is a plain function ``(input, context) -> output``; whatever has a side effect is one.
"""

from importlib import import_module

BUILTIN = (
    "analyze_code", "approve_workflow", "archive_results", "assume_role", "clone_repo", "deployment_pre_check", "echo",
    "generate_report", "http_request",
    "notify_status", "security_scan", "validate_specs",
)  # fmt: skip


def load_builtin() -> None:
    """Register the built-in activities by importing their modules; may be called any number of times.

    Those of ``testing`` are made to fail, hang and be counted: they exist only where ``POIMEN_TEST_ACTIVITIES`` is on.
    """
    from django.conf import settings

    testing = ("testing",) if settings.POIMEN_TEST_ACTIVITIES else ()
    for module in (*BUILTIN, *testing):
        import_module(f"{__name__}.{module}")
