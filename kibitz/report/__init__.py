"""Output for people: text, tables, charts and pictures."""
