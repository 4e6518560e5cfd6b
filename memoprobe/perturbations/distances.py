"""Say how far rewordings are from their original, by the measure that orders the levels."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from memoprobe.errors import ConfigError
from memoprobe.perturbations.levels import distance

Measure = Callable[[str, Sequence[str]], list[float]]
"""Return the distance of each of some texts to the first one, in [0, 1]; 0 to itself."""

EMBEDDER = "sentence-transformers/all-MiniLM-L6-v2"
_NO_EMBEDDINGS = (
    "order embeddings needs the package sentence-transformers: install it with "
    "`pip install 'memoprobe[embeddings]'`, or set order = \"words\" under [paraphrase]"
)


def by_words(text: str, others: Sequence[str]) -> list[float]:
    """Return the cosine distances of word unigram and bigram counts."""
    return [distance(text, other) for other in others]


def by_letters(text: str, others: Sequence[str]) -> list[float]:
    """Return the artifact's distances: the cosine of two bags of characters (Ochiai).

    Anagrams have distance 0. It sorts by this what one beam search over the whole text gives.
    """
    letters = Counter(text)

    def one(other: str) -> float:
        shared = (letters & Counter(other)).total()
        both = len(text) * len(other)
        return 1 - shared / math.sqrt(both) if both else float(text != other)

    return [max(0.0, one(other)) for other in others]


def by_meaning(model: str = EMBEDDER) -> Measure:
    """Return the measure by the cosine of sentence embeddings; a negative cosine counts as 0.

    Args:
        model: An id of the hub, or a folder, that sentence-transformers can load.

    Raises:
        ConfigError: On first use, where the package or the model is not there.
    """

    def measure(text: str, others: Sequence[str]) -> list[float]:
        if not others:
            return []
        # One text at a time: in a batch, how others are padded moves the last digits.
        vectors = _embedder(model).encode([text, *others], batch_size=1, show_progress_bar=False)
        first, *rest = (
            [value / math.hypot(*vector) for value in vector] for vector in vectors.tolist()
        )
        cosines = (math.fsum(a * b for a, b in zip(first, each, strict=True)) for each in rest)
        return [round(min(max(1 - cosine, 0.0), 1.0), 6) for cosine in cosines]

    return measure


@cache
def _embedder(model: str) -> Any:  # noqa: ANN401 - of a package that need not be there
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ConfigError(_NO_EMBEDDINGS) from error
    try:
        return SentenceTransformer(model, device="cpu")  # so that no machine orders otherwise
    except (OSError, ValueError) as error:
        msg = f"embedding model {model!r} cannot be loaded: {_first_line(error)}"
        raise ConfigError(msg) from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


ORDERS: Mapping[str, Callable[[], Measure]] = MappingProxyType(
    {
        "words": lambda: by_words,
        "embeddings": by_meaning,
        "artifact": lambda: by_letters,
    }
)


def usual_order() -> str:
    """Return the order where none is chosen: by embeddings if their package is installed."""
    return "embeddings" if find_spec("sentence_transformers") else "words"
