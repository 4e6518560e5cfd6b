"""Run the command line: ``memoprobe``, or ``python -m memoprobe``."""

import signal


def main() -> None:
    """Import the commands, which takes most of a second, and run one.

    Ctrl-C while they are imported ends the process as it would any program.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from memoprobe import cli

    signal.signal(signal.SIGINT, before)
    cli.main()


if __name__ == "__main__":
    main()
