"""``python -m agents.demo_llm [--port N | --fd N]``: serves until it is ended."""

import argparse
import signal
import socket
import sys

from agents.demo_llm.server import DemoServer


def main() -> None:
    """Listen on loopback, or on the socket that was handed over, and serve."""
    parser = argparse.ArgumentParser(prog="agents.demo_llm", description="A model made of rules, on loopback")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--port", type=int, default=18081)
    place.add_argument("--fd", type=int, help="a listening socket that was handed over")
    chosen = parser.parse_args()
    listener = socket.socket(fileno=chosen.fd) if chosen.fd is not None else None
    server = DemoServer(chosen.port, listener=listener)
    sys.stdout.write(f"the demo model answers at {server.url}\n")
    sys.stdout.flush()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    server.serve()


if __name__ == "__main__":
    main()
