"""Starts executions in the installation of POIMEN_HOME: ``{spec, inputs: [...]}`` on stdin, their ids on stdout.

A process of its own, so that the test's Django keeps the test's database.
"""

import json
import sys

import django


def main() -> None:
    """Submit what stdin asks for."""
    django.setup()
    from workflows.models import Customer
    from workflows.submission import start_execution, store_spec

    asked = json.load(sys.stdin)
    customer, _ = Customer.objects.get_or_create(slug="acme", defaults={"name": "Acme"})
    spec = store_spec(asked["spec"])
    ids = [
        str(start_execution(customer=customer, spec=spec, inputs=inputs, name=asked["spec"]["name"])[0].pk)
        for inputs in asked["inputs"]
    ]
    sys.stdout.write(json.dumps(ids))


if __name__ == "__main__":
    main()
