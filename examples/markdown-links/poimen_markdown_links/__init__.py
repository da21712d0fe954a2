"""A plugin for Poimen that finds links in Markdown files which lead nowhere."""
