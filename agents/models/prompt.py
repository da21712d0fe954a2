"""Prompts that people have edited: every save is a version, and the newest is used."""

from django.conf import settings
from django.db import models

from workflows.identifiers import new_id


class PromptVersion(models.Model):
    """One text of a prompt. Versions are never changed; the built-in text is used where there is none."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=128)
    number = models.PositiveIntegerField()
    source = models.TextField(help_text="Jinja2; a name that is not given is an error")
    note = models.CharField(max_length=200, blank=True, help_text="Why it was changed")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "number"], name="one_prompt_version")]

    def __str__(self) -> str:
        return f"{self.name} {self.number}"
