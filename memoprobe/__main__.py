"""Let ``python -m memoprobe`` do what the command does."""

from memoprobe.cli import main

main()
