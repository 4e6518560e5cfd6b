"""Compute statistics of sequences of floats; nothing here knows of models or benchmarks."""
