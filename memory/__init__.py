"""What is remembered, and how workflows ask for it."""
