"""What has been counted of ended runs and executions, so that counters outlive the rows they counted."""

from django.db import models


class MetricTally(models.Model):
    """One counter: how many, how many seconds in all, by what was run, how it ended and how long it took.

    The row ``watermark`` tells up to where rows have been counted (workflows.metrics.tallies).
    """

    metric = models.CharField(max_length=16, help_text="run, started, ended or watermark")
    label = models.CharField(max_length=128, help_text="Activity, or name of the workflow")
    kind = models.CharField(max_length=16, help_text="Type of the state")
    status = models.CharField(max_length=16)
    bucket = models.SmallIntegerField(help_text="Index of the histogram's bucket")
    count = models.BigIntegerField(default=0)
    again = models.BigIntegerField(default=0, help_text="How many of them were not the first attempt")
    seconds = models.FloatField(default=0)
    until = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "metric tallies"
        constraints = [
            models.UniqueConstraint(
                fields=["metric", "label", "kind", "status", "bucket"], name="one_tally_per_counter"
            )
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.label} {self.status}"
