"""Placeholder docstring, replaced by its author."""
