"""Hold a small transformer of known training set, its corpus, and its server."""
