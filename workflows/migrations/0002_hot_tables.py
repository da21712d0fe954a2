"""Leave room in the pages of rows that change with every transition, so that PostgreSQL updates them in place."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workflows", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE workflows_branch SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, "
            "autovacuum_vacuum_threshold = 1000)",
            "ALTER TABLE workflows_branch RESET (fillfactor, autovacuum_vacuum_scale_factor, "
            "autovacuum_vacuum_threshold)",
        ),
        migrations.RunSQL(
            "ALTER TABLE workflows_execution SET (fillfactor = 70)",
            "ALTER TABLE workflows_execution RESET (fillfactor)",
        ),
        migrations.RunSQL(
            "ALTER TABLE workflows_process SET (fillfactor = 50)",
            "ALTER TABLE workflows_process RESET (fillfactor)",
        ),
    ]
