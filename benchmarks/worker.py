"""One pump in a process of its own: what a worker process does once it has taken its task."""

import signal

import django


def main() -> None:
    """Pump until SIGTERM."""
    django.setup()
    from workflows.engine import control_block
    from workflows.engine.pump import run_pump

    control_block.create()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: control_block.ask_stop())
    run_pump()


if __name__ == "__main__":
    main()
