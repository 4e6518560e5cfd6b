"""Turn samples and variants into requests; own the request key and the seeds.

A slot's key hashes all that can change its answer and nothing else: no URL, key,
timeout, concurrency, row position or n.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from memoprobe.errors import ConfigError
from memoprobe.prompts import fill, stops
from memoprobe.records import Interface, Request, Sample, Sampling, Slot, Variant, content_hash

SEED_BITS = 31  # what every server accepts as a seed
WIDE = 1 << 16  # where the seeds of answers beyond the first width of a study begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Hold what is asked of every variant, by one model."""

    model: str
    served_model: str
    interface: Interface
    sampling: Sampling
    seed: int
    answers: int
    repeats: int
    width: int  # the answers of the database's first run: keeps seeds when a study is extended
    extra: Mapping[str, object]  # further fields of the request body

    def slots(self) -> list[tuple[int, int]]:
        """Return (repeat, answer) of every planned answer; one at temperature 0."""
        if self.sampling.temperature == 0:
            return [(1, 1)]
        return [(r, a) for r in range(1, self.repeats + 1) for a in range(1, self.answers + 1)]


def digest(*parts: object) -> bytes:
    """Return 16 bytes that hash ``parts`` as canonical JSON, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).digest()[:16]


def rng_of(seed: int, *place: str) -> random.Random:
    """Return a generator for one place of the design, independent of all others."""
    return random.Random(digest(seed, *place))


def visiting_order(samples: Iterable[Sample], seed: int) -> list[Sample]:
    """Return the samples in one seeded shuffle across benchmarks.

    The place of a sample does not depend on the others, so a stopped run is a
    balanced subset, and an extended one keeps its order.
    """
    return sorted(samples, key=lambda s: digest("order", seed, s.benchmark, s.sample_id))


class Shard(NamedTuple):
    """Name one of several parts of a study's samples, each for a job of its own."""

    number: int  # from 1
    of: int

    def holds(self, sample: Sample) -> bool:
        """Tell whether a sample is of this part: by its name alone, on every machine alike."""
        place = digest("shard", sample.benchmark, sample.sample_id)
        return int.from_bytes(place[:8]) % self.of == self.number - 1


def shard(text: str) -> Shard:
    """Return the part that ``text`` names, such as 2/8.

    Raises:
        ConfigError: It names none.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        msg = f"--shard {text}: give the part and the number of parts, from 1/8 to 8/8"
        raise ConfigError(msg)
    return Shard(int(found[1]), int(found[2]))


def slot_index(repeat: int, answer: int, width: int) -> int:
    """Return a slot's offset among the seeds of its variant.

    Slots of the first ``width`` answers are numbered without a gap, so that one
    request with n choices covers them where choice i is drawn with seed + i. Answers
    added later are numbered in blocks of their own and never move an earlier slot.
    """
    block, column = divmod(answer - 1, width)
    return block * WIDE + (repeat - 1) * width + column


def request(sample: Sample, variant: Variant, design: Design) -> Request:
    """Return the request for all planned slots of a variant."""
    prompt = fill(sample, variant.text, design.interface)
    place = (sample.benchmark, sample.sample_id, variant.perturbation, variant.level)
    first = int.from_bytes(digest("seed", design.seed, *place)[:4]) >> (32 - SEED_BITS)
    stop = stops(sample, design.interface)
    base = digest(
        "slot",
        design.model,
        design.served_model,
        design.interface,
        prompt,
        stop,
        *place,
        content_hash(sample),
        [design.sampling.temperature, design.sampling.top_p, design.sampling.max_tokens],
        design.extra,
        design.seed,
    )
    slots = []
    for repeat, answer in design.slots():
        offset = slot_index(repeat, answer, design.width)
        seed = (first + offset) % (1 << SEED_BITS)
        key = hashlib.sha256(base + b"%d:%d:%d" % (repeat, answer, seed)).digest()[:16]
        slots.append(Slot(repeat, answer, seed, key))
    return Request(
        model=design.model,
        served_model=design.served_model,
        benchmark=sample.benchmark,
        sample_id=sample.sample_id,
        perturbation=variant.perturbation,
        level=variant.level,
        interface=design.interface,
        prompt=prompt,
        stop=stop,
        sampling=design.sampling,
        slots=tuple(slots),
    )


def runs(slots: Sequence[Slot], max_n: int) -> Iterator[tuple[Slot, ...]]:
    """Split slots into runs of neighbouring seeds, at most ``max_n`` long.

    Only neighbours may share a request: choice i is drawn with the first slot's
    seed + i, and a gap would repeat the seed of a slot that is already filled.
    """
    ordered = sorted(slots, key=lambda slot: slot.seed)
    for _, group in groupby(enumerate(ordered), key=lambda pair: pair[1].seed - pair[0]):
        run = [slot for _, slot in group]
        for start in range(0, len(run), max_n):
            yield tuple(run[start : start + max_n])


def only(whole: Request, slots: tuple[Slot, ...]) -> Request:
    """Return a request for some of its slots."""
    return replace(whole, slots=slots)


def replica(sample: Sample, n: int) -> int:
    """Return which of ``n`` replicas a sample is asked of, by rendezvous hashing."""
    place = (sample.benchmark, sample.sample_id)
    return max(range(n), key=lambda number: digest("replica", number, *place))
