"""Fewer indexes for the start and the end of an execution to write, fewer checks for each step."""

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the new indexes are built beside the work that goes on

    dependencies = [
        ("workflows", "0009_metric_tallies"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(fields=["spec"], name="execution_of_spec"),
        ),
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("workflow_version__isnull", False)),
                fields=["workflow_version"],
                name="execution_of_version",
            ),
        ),
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("parent__isnull", False)), fields=["parent"], name="execution_child"
            ),
        ),
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("continued_from__isnull", False)),
                fields=["continued_from"],
                name="execution_continued",
            ),
        ),
        AddIndexConcurrently(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("rerun_of__isnull", False)), fields=["rerun_of"], name="execution_rerun"
            ),
        ),
        migrations.AlterField(
            model_name="branch",
            name="attempt",
            field=models.IntegerField(default=1),
        ),
        migrations.AlterField(
            model_name="branch",
            name="depth",
            field=models.SmallIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name="branch",
            name="failures",
            field=models.IntegerField(default=0, help_text="Failed attempts of this visit"),
        ),
        migrations.AlterField(
            model_name="branch",
            name="index",
            field=models.IntegerField(default=0),
        ),
        migrations.AlterField(
            model_name="branch",
            name="interruptions",
            field=models.IntegerField(default=0, help_text="Runs of this visit lost with their worker"),
        ),
        migrations.AlterField(
            model_name="branch",
            name="parent_attempt",
            field=models.IntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="branch",
            name="parent_visit",
            field=models.IntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="branch",
            name="visit",
            field=models.IntegerField(default=1),
        ),
        migrations.AlterField(
            model_name="execution",
            name="continued_from",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="continued_as",
                to="workflows.execution",
            ),
        ),
        migrations.AlterField(
            model_name="execution",
            name="customer",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="executions",
                to="workflows.customer",
            ),
        ),
        migrations.AlterField(
            model_name="execution",
            name="parent",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="children",
                to="workflows.execution",
            ),
        ),
        migrations.AlterField(
            model_name="execution",
            name="rerun_of",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="reruns",
                to="workflows.execution",
            ),
        ),
        migrations.AlterField(
            model_name="execution",
            name="spec",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="executions",
                to="workflows.specdocument",
            ),
        ),
        migrations.AlterField(
            model_name="execution",
            name="workflow",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="executions",
                to="workflows.workflow",
            ),
        ),
        migrations.AlterField(
            model_name="execution",
            name="workflow_version",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="workflows.workflowversion",
            ),
        ),
        migrations.AlterField(
            model_name="staterun",
            name="attempt",
            field=models.IntegerField(),
        ),
        migrations.AlterField(
            model_name="staterun",
            name="visit",
            field=models.IntegerField(),
        ),
    ]
