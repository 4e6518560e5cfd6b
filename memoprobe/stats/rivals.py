"""Compute what other detectors of memorization compute; each is higher where they suspect more."""

from collections.abc import Hashable, Sequence
from statistics import fmean

from rapidfuzz.distance import Levenshtein

CLOSE = 0.05  # CDD's alpha
LONGEST = 100  # tokens of an answer that CDD looks at
LOWEST = 0.2  # Min-K %'s k, as a share
FALSE_POSITIVES = 0.05  # the share of controls that may be taken for members


def peakedness(
    greedy: Sequence[Hashable], drawn: Sequence[Sequence[Hashable]], *, alpha: float = CLOSE
) -> float:
    """Return CDD's Peak: the share of drawn answers that lie near the greedy one, in [0, 1].

    CDD (Dong et al. 2024, "Generalization or Memorization: Data Contamination and Trustworthy
    Evaluation for Large Language Models", arXiv 2402.15938): the edit distances in tokens
    between an item's drawn answers and its greedy one pile up near 0 where the item was
    memorized. Near is at most ``alpha`` times the length of the longest of all these answers,
    each cut to 100 tokens, as in the authors' published code. They draw 50 answers at
    temperature 0.8 and call an item contaminated above 0.01.

    Args:
        greedy: Tokens of the answer at temperature 0.
        drawn: Tokens of each answer that was drawn.
        alpha: How near, as a share of the length.

    Raises:
        ValueError: There are no drawn answers.
    """
    if not drawn:
        msg = "peakedness needs at least one drawn answer"
        raise ValueError(msg)
    centre, *cut = (answer[:LONGEST] for answer in (greedy, *drawn))
    near = alpha * max(map(len, (centre, *cut)))
    return fmean([Levenshtein.distance(answer, centre) <= near for answer in cut])


def min_k(logprobs: Sequence[float], *, share: float = LOWEST) -> float:
    """Return the mean of the lowest log-probabilities of a text's tokens, in nats: Min-K % Prob.

    Shi et al. 2023, "Detecting Pretraining Data from Large Language Models", arXiv 2310.16789:
    a text never seen holds a few tokens that the model finds very unlikely. The number of
    tokens is rounded down, as in the authors' published code, and at least 1; they report
    k = 20 % as best. (That code turns the sign; here more is more suspect.)

    Raises:
        ValueError: There are no tokens.
    """
    if not logprobs:
        msg = "Min-K % needs at least one token"
        raise ValueError(msg)
    return fmean(sorted(logprobs)[: max(1, int(len(logprobs) * share))])


def risk_index(likeness: float, before: float, after: float) -> float | None:
    """Return MRI, the memorization risk index, in [0, 1]: similar to the original and wrong.

    Zhang et al. 2025, "Memorize or Generalize? Evaluating LLM Code Generation with Code
    Rewriting", arXiv 2503.02296: the product of how like the original solution the answers to
    the altered task are, and of the accuracy's relative drop. A rise is no drop.

    Args:
        likeness: Of answers to the altered task to the original's reference, in [0, 1].
        before: Accuracy on the original task, in [0, 1].
        after: Accuracy on the altered task, in [0, 1].

    Returns:
        None where nothing was right before, so nothing can drop.
    """
    return likeness * max(0.0, 1 - after / before) if before > 0 else None


def found_share(
    items: Sequence[float], controls: Sequence[float], *, rate: float = FALSE_POSITIVES
) -> float | None:
    """Return the share of items above a bound that at most ``rate`` of the controls exceed.

    It is the true-positive rate at that false-positive rate, were all items members.

    Returns:
        None where there are so few controls that one of them is more than ``rate``.
    """
    if not items or len(controls) * rate < 1:
        return None
    bound = sorted(controls, reverse=True)[int(len(controls) * rate)]
    return fmean([value > bound for value in items])
