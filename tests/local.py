"""Find the development data beside a checkout; tests that need it are skipped without it."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"

needs_shared = pytest.mark.skipif(
    not (SHARED / "data").is_dir(), reason="the development data ../shared/data is not here"
)
