"""Blueprints of every kind: rows by place for limit poker, and where they are made, saved and read."""
