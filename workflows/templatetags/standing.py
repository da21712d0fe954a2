"""``{% figures as ... %}``: what the admin's index counts for whoever looks at it."""

from typing import Any

from django import template

from workflows.admin.standing import Figure, figures_for

register = template.Library()


@register.simple_tag(takes_context=True)
def figures(context: dict[str, Any]) -> list[Figure]:
    """Return the figures of the request's user."""
    return figures_for(context["request"])
