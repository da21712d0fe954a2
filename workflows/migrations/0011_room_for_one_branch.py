"""A customer whose limit is 0 would wait for ever without a word: such limits become 1, and no new ones are taken."""

from typing import Any

import django.core.validators
from django.db import migrations, models

NO_ROOM = "With less than 1 nothing of this customer would ever run; leave it empty for no limit"


def make_room(apps: Any, schema_editor: Any) -> None:
    """The smallest limit under which work goes on."""
    apps.get_model("workflows", "Customer").objects.filter(max_running_branches=0).update(max_running_branches=1)


class Migration(migrations.Migration):
    dependencies = [
        ("workflows", "0010_fewer_indexes_and_checks"),
    ]

    operations = [
        migrations.AlterField(
            model_name="customer",
            name="max_running_branches",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Most branches of this customer that run at once, at least 1; empty: no limit",
                null=True,
                validators=[django.core.validators.MinValueValidator(1, NO_ROOM)],
            ),
        ),
        migrations.RunPython(make_room, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="customer",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_running_branches", None), ("max_running_branches__gte", 1), _connector="OR"),
                name="room_for_one_branch",
                violation_error_message=NO_ROOM,
            ),
        ),
    ]
