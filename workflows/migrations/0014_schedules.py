"""Schedules and the history of what they started; executions say whose they are."""

import datetime
import django.db.models.deletion
import workflows.identifiers
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workflows", "0013_notifications"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduleRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflows.identifiers.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("due_at", models.DateTimeField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("started", "Started"),
                            ("queued", "Queued"),
                            ("skipped", "Skipped"),
                            ("failed", "Could not start"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("clock", "Clock"),
                            ("catch-up", "Catch Up"),
                            ("backfill", "Backfill"),
                            ("manual", "Manual"),
                        ],
                        default="clock",
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("triggered_by", models.CharField(blank=True, max_length=254)),
                ("decided_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Schedule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=workflows.identifiers.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=128)),
                ("description", models.TextField(blank=True)),
                (
                    "workflow_version",
                    models.PositiveIntegerField(blank=True, help_text="Empty: the newest at each start", null=True),
                ),
                ("inputs", models.JSONField(default=dict)),
                ("priority", models.SmallIntegerField(default=0, help_text="Higher runs first")),
                ("cron", models.CharField(max_length=256)),
                ("zone", models.CharField(default="UTC", max_length=64)),
                ("anchor", models.DateTimeField(help_text="What intervals (@every) are counted from")),
                (
                    "overlap",
                    models.CharField(
                        choices=[
                            ("skip", "Skip"),
                            ("queue", "Queue"),
                            ("cancel-other", "Cancel Other"),
                            ("allow", "Allow"),
                        ],
                        default="skip",
                        max_length=16,
                    ),
                ),
                (
                    "catch_up",
                    models.DurationField(
                        default=datetime.timedelta(0), help_text="How far back missed runs are made up for"
                    ),
                ),
                (
                    "jitter",
                    models.DurationField(
                        default=datetime.timedelta(0), help_text="Each run starts up to this much later"
                    ),
                ),
                ("max_runs", models.PositiveIntegerField(blank=True, null=True)),
                ("starts_at", models.DateTimeField(blank=True, null=True)),
                ("ends_at", models.DateTimeField(blank=True, null=True)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("paused_by", models.CharField(blank=True, max_length=254)),
                ("pause_reason", models.TextField(blank=True)),
                ("runs", models.PositiveIntegerField(default=0, help_text="How many counted towards max_runs")),
                ("due_at", models.DateTimeField(null=True)),
                ("fires_at", models.DateTimeField(null=True)),
                ("decided_at", models.DateTimeField(help_text="When due_at was worked out, by the database's clock")),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_by", models.CharField(blank=True, max_length=254)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "customer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="schedules", to="workflows.customer"
                    ),
                ),
                (
                    "spec",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="workflows.specdocument",
                    ),
                ),
                (
                    "workflow",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="schedules",
                        to="workflows.workflow",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="execution",
            name="schedule",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="executions",
                to="workflows.schedule",
            ),
        ),
        migrations.AddField(
            model_name="schedulerun",
            name="execution",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="workflows.execution",
            ),
        ),
        migrations.AddField(
            model_name="schedulerun",
            name="schedule",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="history",
                to="workflows.schedule",
            ),
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(fields=["customer", "name"], name="schedule_by_name"),
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(
                condition=models.Q(("fires_at__isnull", False), ("paused_at", None)),
                fields=["fires_at"],
                name="schedule_due",
            ),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(
                condition=models.Q(("outcome", "queued")), fields=["schedule"], name="schedulerun_queued"
            ),
        ),
        migrations.AddIndex(
            model_name="schedulerun",
            index=models.Index(fields=["decided_at"], name="schedulerun_decided"),
        ),
        migrations.AddConstraint(
            model_name="schedulerun",
            constraint=models.UniqueConstraint(fields=("schedule", "due_at"), name="one_row_per_due_instant"),
        ),
    ]
