"""Hold the code that runs behind the wall; it imports nothing but the standard library.

It is compiled by the caller and handed in, so that nothing of memoprobe needs to be seen
from inside. ``candidate`` and ``script`` share a process with the program under test: what
they report is an answer to be judged, never a verdict. ``judge`` holds the tests and the
expected values, in a process of its own.
"""
