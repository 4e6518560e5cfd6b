"""Find out how much of a code LLM's benchmark score is learned and how much is memorized."""

__version__ = "0.1.0"
