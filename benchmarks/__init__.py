"""Measures the engine against its budgets, and against others on the same server in the same run."""
