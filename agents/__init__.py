"""Who does the work: LLM client, prompts, router."""
