"""Carry a study from benchmark rows to a report, one step per line; alone reads ``Study``."""
