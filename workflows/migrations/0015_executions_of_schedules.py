"""Find the executions of a schedule, and those that still run, without reading the others."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the new indexes are built beside the work that goes on

    dependencies = [
        ("workflows", "0014_schedules"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("schedule__isnull", False)),
                fields=["schedule", "-created_at"],
                name="execution_of_schedule",
            ),
        ),
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("ended_at", None), ("schedule__isnull", False)),
                fields=["schedule"],
                name="execution_scheduled_open",
            ),
        ),
    ]
