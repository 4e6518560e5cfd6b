"""Load the reference model of a seed; those of corpus.SEEDS are shipped."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memoprobe.errors import ConfigError
from memoprobe.reference import corpus, tokenizer
from memoprobe.reference.network import Network
from memoprobe.reference.tokenizer import BEGIN, END, PADDING, SPECIAL, Tokenizer
from memoprobe.reference.weights import SHAPE, about, read, shapes, write

FOLDER = Path(__file__).parent.parent / "_reference"
NAME = "memoprobe-reference"
TOKENIZER = "tokenizer.json"
CORPUS = "corpus"
"""Under this name a file of weights says what it was trained on."""


class Model(NamedTuple):
    """Hold a model that can be served."""

    name: str
    network: Network
    tokenizer: Tokenizer


def load(seed: int, folder: Path = FOLDER) -> Model:
    """Return the model that has seen the members of ``seed``, one of corpus.SEEDS.

    Raises:
        ConfigError: The folder has no model of that seed, or a damaged one.
    """
    path = _path(seed, folder)
    with _damage_told(folder / TOKENIZER):
        known = tokenizer.load(folder / TOKENIZER)
    with _damage_told(path):
        weights = read(path)
        if {name: weight.shape for name, weight in weights.items()} != shapes(len(known)):
            msg = "its tensors are not those of this model and tokenizer"
            raise ValueError(msg)
        if not all(np.isfinite(weight).all() for weight in weights.values()):
            msg = "not all of its values are numbers"
            raise ValueError(msg)
    return Model(f"{NAME}-{seed}", Network(weights), known)


def fingerprint(seed: int, folder: Path = FOLDER) -> str:
    """Return a hash of a seed's weights and tokenizer, 8 hexadecimal digits.

    Raises:
        ConfigError: The folder has no model of that seed.
    """
    path = _path(seed, folder)
    parts = (folder / TOKENIZER).read_bytes() + path.read_bytes()
    return hashlib.sha256(parts).hexdigest()[:8]


def _path(seed: int, folder: Path) -> Path:
    path = folder / f"seed{seed}.safetensors"
    mend = (
        'train it, which takes minutes: pip install "memoprobe[train]" and '
        f"python -m memoprobe.reference.train FOLDER --seed {seed}"
    )
    for each in (path, folder / TOKENIZER):
        if not each.is_file():
            msg = f"{each}: no such model; {mend}"
            raise ConfigError(msg)
    with _damage_told(path):
        trained_on = about(path).get(CORPUS)
    if trained_on != corpus.fingerprint(seed):
        msg = f"{path}: was trained on other items than this version has; {mend}"
        raise ConfigError(msg)
    return path


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file may raise into one message."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"{path}: is damaged; copy it again, or train it again ({error})"
        raise ConfigError(msg) from error


def export(seed: int, out: Path, folder: Path = FOLDER) -> None:
    """Write a seed's model as a folder from which transformers loads it."""
    out.mkdir(parents=True, exist_ok=True)
    whole = read(_path(seed, folder))
    write(out / "model.safetensors", whole)
    shutil.copyfile(folder / TOKENIZER, out / TOKENIZER)
    names = {"bos_token": SPECIAL[BEGIN], "eos_token": SPECIAL[END], "pad_token": SPECIAL[PADDING]}
    spelled = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(whole["model.embed_tokens.weight"]),
        "hidden_size": SHAPE.width,
        "intermediate_size": SHAPE.inner,
        "num_hidden_layers": SHAPE.layers,
        "num_attention_heads": SHAPE.heads,
        "num_key_value_heads": SHAPE.heads,
        "max_position_embeddings": SHAPE.context,
        "rope_theta": SHAPE.theta,
        "rms_norm_eps": SHAPE.epsilon,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "pad_token_id": PADDING,
        "dtype": "float16",
    }
    for name, content in (("config.json", config), ("tokenizer_config.json", spelled)):
        (out / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
