"""API keys are called so in the admin."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("workflows", "0011_room_for_one_branch"),
    ]

    operations = [
        migrations.AlterModelOptions(name="apikey", options={"verbose_name": "API key"}),
    ]
