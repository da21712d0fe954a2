"""What runs: specs, executions, the engine, activities, signals, approvals, logs. Imports none of the other apps."""
