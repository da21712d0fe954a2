"""The base of every activity's input and output: camelCase keys in JSON, snake_case names in Python.

Keys that an input does not know are ignored: a workflow may pass more than one activity reads (workflow-spec 8.3).
"""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Fields(BaseModel):
    """An object of named fields; ``required_approvals`` is ``requiredApprovals`` in JSON, either is taken."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
