"""Train a small log-linear language model and sample from it.

The next symbol t of an answer is drawn from the symbols that training has seen after the
last SHORT symbols g, with probability

    P(t | g, F) = exp(bias[g, t] + sum over f in F of weight[g, f, t]) / Z

F are the features of the prompt and of the answer so far. The weights are fitted by gradient
ascent on the likelihood, stopped early: what is seen once leaves a trace, what is seen
several times is memorized. Features learn by how often they are seen, and words and pairs
of the prompt more slowly than its rare long runs: so a memory hangs on the very wording.
"""

import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from memoprobe.demo.reading import ANSWER, END, RUN, Draft, Feature, read_answer, read_prompt

SHORT = 2
STEPS = 20
RATE = 0.5
MOMENTUM = 0.9
CAUTION = 20.0  # sightings at which a feature learns at half its full rate
WORD_CAUTION = 200.0  # the same for words and pairs of the prompt
RUN_SIGHTINGS = 6  # a run in more texts than this is a way of speaking and no feature

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


class Completion(NamedTuple):
    """Hold one sampled answer."""

    text: str
    finish_reason: str  # "stop" or "length"
    n_tokens: int  # symbols, the end and announcements of names among them


class _Next(NamedTuple):
    """Hold what follows one short history."""

    symbols: list[str]
    bias: Floats  # (n_symbols,)
    features: Ids  # rising
    weights: Floats  # (n_features, n_symbols)

    def score(self, active: Ids) -> Floats:
        """Return the summed weights of the ``active`` features, shape (n_symbols,)."""
        at = np.searchsorted(self.features, active)
        inside = at < len(self.features)
        at = at[inside]
        known = self.features[at] == active[inside]
        total: Floats = self.weights[at[known]].sum(axis=0)
        return total


class _Example(NamedTuple):
    """Hold one place of one training text."""

    symbol: str
    active: Ids  # features, in any order
    copies: int


class _Node:
    """Hold a draft of an answer to one prompt and the drafts that followed it."""

    def __init__(self, draft: Draft, symbols: list[str], probabilities: Sequence[float]) -> None:
        self.draft = draft
        self.symbols = symbols
        self.probabilities = probabilities
        self.followers: dict[str, _Node] = {}
        self.cuts: dict[tuple[float, float], list[float]] = {}

    def draw(self, temperature: float, top_p: float, rng: random.Random) -> str:
        """Return a next symbol."""
        cut = (temperature, top_p)
        if cut not in self.cuts:
            self.cuts[cut] = list(accumulate(nucleus(self.probabilities, temperature, top_p)))
        sums = self.cuts[cut]
        # The last sum may fall short of 1 by rounding.
        return self.symbols[bisect_right(sums, rng.random() * sums[-1])]


class _Session(NamedTuple):
    """Hold what is worked out once per prompt."""

    active: Ids
    scores: dict[tuple[str, ...], Floats]  # of the active features, per short history
    root: _Node


def nucleus(probabilities: Sequence[float], temperature: float, top_p: float) -> list[float]:
    """Return the distribution that is drawn from: sharpened by temperature, then cut to ``top_p``.

    The likeliest symbols are kept, as few as reach ``top_p`` together. At temperature 0 all
    lies on the first of the likeliest.
    """
    given = np.asarray(probabilities, dtype=float)
    if temperature == 0:
        kept = np.zeros_like(given)
        kept[np.argmax(given)] = 1.0
    else:
        kept = (given / given.max()) ** (1 / temperature)
        kept /= kept.sum()
        order = np.argsort(-kept, kind="stable")
        before = np.cumsum(kept[order]) - kept[order]
        kept[order[before >= top_p]] = 0.0
        kept /= kept.sum()
    return [float(share) for share in kept]


class LanguageModel:
    """Continue prompts as the documents it was trained on do."""

    def __init__(self) -> None:
        self._ids: dict[Feature, int] = {}
        self._next: dict[tuple[str, ...], _Next] = {}
        # As many prompts as may well be in flight at once.
        self._session = lru_cache(maxsize=64)(self._open)

    def train(self, documents: Iterable[tuple[str, str]]) -> None:
        """Learn from (prompt, answer) pairs, each as often as it is given; forget all before."""
        copies = Counter(documents)
        read = [(*read_prompt(prompt), answer) for prompt, answer in copies]
        self._ids = _vocabulary([features for _, features, _ in read], list(copies.values()))
        self._session.cache_clear()
        places: dict[tuple[str, ...], list[_Example]] = defaultdict(list)
        for (draft, features, answer), times in zip(read, copies.values(), strict=True):
            prompt = self._known(features)
            for before, symbol in read_answer(draft, answer):
                mine = before.features(SHORT + 1)
                new = [self._ids.setdefault(feature, len(self._ids)) for feature in mine]
                active = np.concatenate([prompt, np.array(new, dtype=np.int32)])
                places[before.history[-SHORT:]].append(_Example(symbol, active, times))
        caution = np.array(
            [CAUTION if len(f) == RUN or f[0] in ANSWER else WORD_CAUTION for f in self._ids]
        )
        self._next = {**_shorter(places), **{g: _fit(p, caution) for g, p in places.items()}}

    def sample(
        self, prompt: str, *, temperature: float, top_p: float, max_tokens: int, seed: int
    ) -> Completion:
        """Return one answer, a function of the arguments alone.

        Args:
            prompt: Any text; what it shares with no training prompt is passed over.
            temperature: 0 or more; 0 is greedy.
            top_p: Share of the sharpened distribution that is kept, in (0, 1].
            max_tokens: 1 or more; the answer is cut there.
            seed: Of the random draws.
        """
        rng = random.Random(seed)
        session = self._session(prompt)
        node = session.root
        parts: list[str] = []
        while len(parts) < max_tokens:
            symbol = node.draw(temperature, top_p, rng)
            if symbol == END:
                return Completion("".join(parts), "stop", len(parts) + 1)
            parts.append(node.draft.piece(symbol) or "")
            if symbol not in node.followers:
                node.followers[symbol] = self._node(
                    session.active, session.scores, node.draft.then(symbol)
                )
            node = node.followers[symbol]
        return Completion("".join(parts), "length", len(parts))

    def distribution(self, prompt: str, answer: str) -> dict[str, float]:
        """Return the probability of each next token after ``answer``, at temperature 1."""
        session = self._session(prompt)
        *_, (draft, _) = read_answer(session.root.draft, answer)
        node = self._node(session.active, session.scores, draft)
        texts = [draft.piece(symbol) or "" for symbol in node.symbols]
        return dict(zip(texts, node.probabilities, strict=True))

    def _open(self, prompt: str) -> _Session:
        draft, features = read_prompt(prompt)
        active, scores = self._known(features), dict[tuple[str, ...], Floats]()
        return _Session(active, scores, self._node(active, scores, draft))

    def _known(self, features: Iterable[Feature]) -> Ids:
        ids = sorted(self._ids[feature] for feature in features if feature in self._ids)
        return np.array(ids, dtype=np.int32)

    def _node(self, active: Ids, scores: dict[tuple[str, ...], Floats], draft: Draft) -> _Node:
        for length in range(SHORT, -1, -1):
            short = draft.history[len(draft.history) - length :]
            following = self._next.get(short)
            allowed = following and [draft.allows(symbol) for symbol in following.symbols]
            if following and allowed and any(allowed):
                break
        else:
            msg = "an untrained model cannot answer"
            raise ValueError(msg)
        if short not in scores:
            scores[short] = following.bias + following.score(active)
        own = following.score(self._known(draft.features(SHORT + 1)))
        summed = np.where(allowed, scores[short] + own, -np.inf).astype(float)
        likelihoods = np.exp(summed - summed.max())
        return _Node(draft, following.symbols, list(likelihoods / likelihoods.sum()))


def _vocabulary(texts: list[list[Feature]], copies: list[int]) -> dict[Feature, int]:
    """Number the prompts' features, without those seen once, those seen always and common runs."""
    totals: Counter[Feature] = Counter()
    for features, times in zip(texts, copies, strict=True):
        totals.update(dict.fromkeys(features, times))
    kept = (
        feature
        for feature, sightings in totals.items()
        if 1 < sightings < sum(copies) and (len(feature) != RUN or sightings <= RUN_SIGHTINGS)
    )
    return {feature: number for number, feature in enumerate(kept)}


def _shorter(places: dict[tuple[str, ...], list[_Example]]) -> dict[tuple[str, ...], _Next]:
    """Return what follows the ends of the short histories, by frequency alone."""
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for short, examples in places.items():
        for example in examples:
            for length in range(SHORT):
                counts[short[SHORT - length :]][example.symbol] += example.copies
    return {
        short: _Next(
            list(symbols),
            np.log(np.array(list(symbols.values()), dtype=np.float32)),
            np.zeros(0, dtype=np.int32),
            np.zeros((0, len(symbols)), dtype=np.float32),
        )
        for short, symbols in counts.items()
    }


def _fit(examples: list[_Example], caution: npt.NDArray[np.float64]) -> _Next:
    """Fit the weights of one short history by gradient ascent with momentum."""
    symbols = sorted({example.symbol for example in examples})
    copies = np.array([example.copies for example in examples], dtype=np.float32)
    seen = np.zeros((len(examples), len(symbols)), dtype=np.float32)
    seen[np.arange(len(examples)), [symbols.index(example.symbol) for example in examples]] = 1
    bias = np.log(copies @ seen)
    features, active = _matrix(examples, copies)
    if len(symbols) == 1:
        features, active = features[:0], active[:, :0]
    weights = np.zeros((len(features), len(symbols)), dtype=np.float32)
    speed = np.zeros_like(weights)
    by_feature = active.T.tocsr()
    # A weight moves by the mean error of its sightings, shared with the features beside it.
    sightings = by_feature @ copies
    beside = max(1.0, active.nnz / len(examples))
    rate = (RATE / np.sqrt(beside) / (sightings + caution[features])).astype(np.float32)
    for _ in range(STEPS if len(features) else 0):
        scores = active @ weights + bias
        expected = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
        speed *= MOMENTUM
        speed += rate[:, None] * (by_feature @ ((seen - expected) * copies[:, None]))
        weights += speed
    return _Next(symbols, bias, features, weights)


def _matrix(examples: list[_Example], copies: Floats) -> tuple[Ids, sparse.csr_matrix]:
    """Return the features that can tell the examples apart, and which examples have them."""
    flat = np.concatenate([example.active for example in examples])
    ends = np.cumsum([0, *(len(example.active) for example in examples)])
    features, columns = np.unique(flat, return_inverse=True)
    active = sparse.csr_matrix(
        (np.ones(len(flat), dtype=np.float32), columns, ends), shape=(len(examples), len(features))
    )
    sightings = active.T @ copies
    telling = (sightings > 1) & (sightings < copies.sum())
    return features[telling], active[:, telling]
