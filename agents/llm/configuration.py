"""Where the language model is, which models there are and what each may be asked at once: read at every call.

Owns the aliases: callers name ``reasoning``, the endpoint gets the model that the operator put behind it.
Source: contract-router-and-llm 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings

from agents.llm.errors import LLMNotConfigured, UnsupportedModel

DEFAULT = ""  # the entry of a limit that has no name before it


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server; ``base_url`` without ``/v1`` and slash at its end."""

    base_url: str
    key: str

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"


@dataclass(frozen=True, slots=True)
class Model:
    """What callers name, and the model that the endpoint is asked for; the limits are 0 for none."""

    alias: str
    id: str
    concurrency: int
    requests_per_minute: int


def is_configured() -> bool:
    """Whether there is an endpoint at all."""
    return bool(settings.LOCAL_LLM_BASE_URL)


def endpoint() -> Endpoint:
    """Return the endpoint; raises :class:`LLMNotConfigured`, which says what to set."""
    if not settings.LOCAL_LLM_BASE_URL:
        raise LLMNotConfigured(
            "no language model is configured: LOCAL_LLM_BASE_URL is not set. Set it to the address of an "
            "OpenAI-compatible server, such as http://localhost:11434"
        )
    return Endpoint(settings.LOCAL_LLM_BASE_URL, settings.LOCAL_LLM_API_KEY)


def models() -> list[str]:
    """Return the names that callers may use."""
    return list(settings.POIMEN_LLM_MODELS)


def model(name: str) -> Model:
    """Return what is behind ``name``; raises :class:`UnsupportedModel` naming all there are."""
    known: dict[str, str] = settings.POIMEN_LLM_MODELS
    if name not in known:
        raise UnsupportedModel(f"unsupported model {name[:100]!r}; expected one of {', '.join(known)}")
    return Model(
        name,
        known[name],
        concurrency=_limit(settings.POIMEN_LLM_CONCURRENCY, name),
        requests_per_minute=_limit(settings.POIMEN_LLM_REQUESTS_PER_MINUTE, name),
    )


def _limit(limits: Mapping[str, int], name: str) -> int:
    return limits.get(name, limits[DEFAULT])
