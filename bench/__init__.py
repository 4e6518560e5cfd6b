"""Hold the measurements; run as ``python -m bench.<name>``."""
