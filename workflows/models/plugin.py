"""Installed packages that bring activities: whether they may run here, and how they are set up."""

from django.db import models


class Plugin(models.Model):
    """One entry point of ``poimen.activities``. The code is each process's own; this row decides for all of them.

    ``config`` is encrypted as a whole: whoever sets it up may write secrets into it (subsystem-plugins 5).
    """

    slug = models.CharField(max_length=64, primary_key=True)
    distribution = models.CharField(max_length=128, blank=True)
    version = models.CharField(max_length=64, blank=True)
    author = models.CharField(max_length=300, blank=True)
    description = models.CharField(max_length=300, blank=True)
    activities = models.JSONField(default=list, help_text="Names of what it brings")
    enabled = models.BooleanField(default=True, help_text="Whether its activities run, and are offered")
    config = models.BinaryField(null=True)
    load_error = models.CharField(max_length=1000, blank=True, help_text="Why it cannot be loaded")
    run_error = models.CharField(max_length=1000, blank=True, help_text="How the last failed run of it ended")
    run_error_at = models.DateTimeField(null=True)
    found_at = models.DateTimeField(auto_now_add=True)
    loaded_at = models.DateTimeField(null=True, help_text="When this version was first seen")
    reload_count = models.IntegerField(default=0, help_text="How often another version came")

    def __str__(self) -> str:
        return f"{self.slug} {self.version}"
