"""Hold what verbs may become, and inflect them."""

import re
from collections.abc import Iterator

# A star marks a word that can also be a noun or an adjective; it changes only where it is none.
VERBS = """
calculate: compute, determine, work out
compute: calculate, determine, work out
determine: find out, establish, work out
*check: test, verify
*test: check
verify: check, confirm
*count: tally, count up
get: obtain
obtain: get
extract: pull out, retrieve, take out
retrieve: fetch, get
select: pick, choose
choose: pick, select
remove: delete, eliminate, take out
delete: remove, erase
convert: transform, change, translate
*transform: convert
create: build, construct
generate: produce, create
produce: generate
build: construct, make
construct: build
merge: combine, join
combine: merge, join
*sort: arrange, order
*split: break up, divide up
concatenate: join together, join
replace: substitute
interchange: swap, exchange
*exchange: swap, interchange
*swap: exchange, interchange
ignore: disregard, skip
identify: recognize, detect
detect: find out, discover
*access: retrieve, look up
*increment: increase
*perform: carry out
*implement: write
ensure: make sure
*shortlist: pick out
*search: look for
*print: output, display
*display: show
write: create, develop, produce
complete: finish
require: need
satisfy: meet
*shift: move
append: attach
insert: place, put
describe: depict
receive: get
decompose: break down
accept: take
"""
IRREGULAR = frozenset(
    {"break", "build", "choose", "find", "get", "give", "make", "meet", "put", "set", "show"}
    | {"sort", "split", "stand", "take", "write"}
)
NO_DOUBLING = frozenset(
    {"access", "detect", "develop", "exchange", "filter", "increment", "interchange", "obtain"}
    | {"order", "shortlist"}
)
# What must stand before a doubtful word, by its ending; notation of ``clauses``.
VERB_CONTEXT = {
    "": "(?:^|<after to/should/must/will/can/please/then/shall>)",
    "s": "(?:^|<after that/which/function/it/and>)",
    "ing": "<after by/for/after/without>",
}
NO_PARTICLE = r"(?! (?:for|out|up|off)\b)"


def verb_rules() -> Iterator[tuple[str, list[str]]]:
    """Yield a pattern and its replacements for each form of each verb."""
    for line in VERBS.strip().splitlines():
        old, new = line.split(": ")
        doubtful, lemma = old.startswith("*"), old.lstrip("*")
        verbs = new.split(", ")
        for ending in ("", "s", "ing", "ed"):
            fit = [verb for verb in (lemma, *verbs) if ending != "ed" or _is_regular(verb)]
            if lemma in fit and len(fit) > 1:
                context = VERB_CONTEXT.get(ending, "") if doubtful else ""
                pattern = context + inflected(lemma, ending) + NO_PARTICLE
                yield pattern, [inflected(verb, ending) for verb in fit[1:]]


def _is_regular(verb: str) -> bool:
    return " " not in verb and verb not in IRREGULAR


def inflected(verb: str, ending: str) -> str:
    """Return a verb with the ending "", "s", "ing" or "ed" on its first word."""
    stem, space, rest = verb.partition(" ")
    if ending == "s":
        stem = re.sub(r"(?<=[^aeiou])y$", "ie", stem)
        ending = "es" if re.search(r"(?:s|x|z|ch|sh)$", stem) else "s"
    elif ending:
        if stem not in NO_DOUBLING:
            stem = re.sub(r"(?<=[^aeiou][aeiou])([bdgmnprt])$", r"\1\1", stem)
        stem = re.sub(r"(?<=[^eo])e$", "", stem)
        stem = re.sub(r"(?<=[^aeiou])y$", "i", stem) if ending == "ed" else stem
    return stem + ending + space + rest
