"""Reword sentences by a sequence-to-sequence model on this machine, BART as a rule."""

from collections.abc import Sequence
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from memoprobe.errors import ConfigError
from memoprobe.perturbations.paraphrase import Rejected
from memoprobe.perturbations.sources import Rewordings

MODEL = "eugenesiow/bart-paraphrase"
BATCH = 8  # sentences at a time
DRAWS = 3  # wider searches than this find hardly anything new
_MISSING = (
    "perturbation bart needs the packages torch and transformers: install them with "
    "`pip install 'memoprobe[bart]'`, or choose another source under [paraphrase]"
)


def bart(model: str = MODEL, device: str | None = None, beams: int = 10) -> Rewordings:
    """Return the rewordings that a beam search finds; no chance is in them.

    Draw d takes (d + 1) * ``beams`` beams and gives all of them. Batches are made of one
    sample's sentences in their order, so that what else is asked changes nothing.

    Args:
        model: An id of the hub, or a folder.
        device: As torch names it; None is a GPU where there is one, else the CPU.
        beams: Of the first draw.

    Raises:
        ConfigError: When it is used, where packages or model are not there.
    """

    def rewordings(sentences: Sequence[str], draw: int) -> list[list[str | Rejected]]:
        if draw >= DRAWS:
            return [[] for _ in sentences]
        found: list[list[str | Rejected]] = []
        for start in range(0, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            found += _searched(batch, model, device, beams * (draw + 1))
        return found

    return rewordings


def _searched(
    sentences: Sequence[str], model: str, device: str | None, beams: int
) -> list[list[str | Rejected]]:
    """Return the beams of each sentence; one that the model cannot hold whole is turned down."""
    torch, tokenizer, network = _loaded(model, device)
    most = network.config.max_position_embeddings
    lengths = [len(ids) for ids in tokenizer(list(sentences))["input_ids"]]
    fitting = [text for text, length in zip(sentences, lengths, strict=True) if length <= most]
    texts: list[str] = []
    if fitting:
        batch = tokenizer(fitting, return_tensors="pt", padding=True).to(network.device)
        with torch.inference_mode():
            ids = network.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                do_sample=False,
                num_beams=beams,
                num_return_sequences=beams,
                early_stopping=True,
                max_length=min(most, 2 * max(lengths) + 20),
            )
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    groups = iter([texts[start : start + beams] for start in range(0, len(texts), beams)])
    return [list(next(groups)) if length <= most else [Rejected("too long")] for length in lengths]


@cache
def _loaded(model: str, device: str | None) -> tuple[Any, Any, Any]:
    """Return torch, the tokenizer and the model, which is read once."""
    try:
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError as error:
        raise ConfigError(_MISSING) from error
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        network = AutoModelForSeq2SeqLM.from_pretrained(model).to(where).eval()
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        mend = "give `model` under [paraphrase] a hub id or the folder of a downloaded copy"
        msg = f"paraphrase model {model!r} cannot be loaded on {where}: {reason}; {mend}"
        raise ConfigError(msg) from error
    return torch, tokenizer, network


def identity(model: str = MODEL, device: str | None = None) -> str:
    """Return what tells a model from another under the same name: its commit, or its files' hash.

    Raises:
        ConfigError: Packages or model are not there.
    """
    folder = Path(model)
    if not folder.is_dir():
        return str(_loaded(model, device)[2].config._commit_hash)
    parts = []
    for path in sorted(each for each in folder.iterdir() if each.is_file()):
        with path.open("rb") as file:
            parts.append(f"{path.name} {file_digest(file, 'sha256').hexdigest()}\n")
    return sha256("".join(parts).encode()).hexdigest()[:16]
