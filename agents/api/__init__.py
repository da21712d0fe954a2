"""REST about language models: what was asked and answered, and what it cost. Read only."""
