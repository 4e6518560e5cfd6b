"""Load the reference model of a seed; that of seed 0 is shipped."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from memoprobe.errors import ConfigError
from memoprobe.reference import tokenizer
from memoprobe.reference.network import Network
from memoprobe.reference.tokenizer import BEGIN, END, PADDING, SPECIAL, Tokenizer
from memoprobe.reference.weights import SHAPE, read, write

FOLDER = Path(__file__).parent.parent / "_reference"
NAME = "memoprobe-reference"


class Model(NamedTuple):
    """Hold a model that can be served."""

    name: str
    network: Network
    tokenizer: Tokenizer


def load(seed: int, folder: Path = FOLDER) -> Model:
    """Return the model that has seen the members of ``seed``, one of corpus.SEEDS.

    Args:
        seed: Only the first is in the package.
        folder: Where the models are.

    Raises:
        ConfigError: The folder has no model of that seed.
    """
    known = tokenizer.load(folder / "tokenizer.json")
    return Model(f"{NAME}-{seed}", Network(read(_path(seed, folder))), known)


def _path(seed: int, folder: Path) -> Path:
    path = folder / f"seed{seed}.safetensors"
    if not path.is_file():
        msg = (
            f"{path}: no such model; train it, which takes minutes: pip install memoprobe[train] "
            f"and python -m memoprobe.reference.train FOLDER --seed {seed}"
        )
        raise ConfigError(msg)
    return path


def export(seed: int, out: Path, folder: Path = FOLDER) -> None:
    """Write a seed's model as a folder from which transformers loads it."""
    out.mkdir(parents=True, exist_ok=True)
    whole = read(_path(seed, folder))
    write(out / "model.safetensors", whole)
    shutil.copyfile(folder / "tokenizer.json", out / "tokenizer.json")
    names = {"bos_token": SPECIAL[BEGIN], "eos_token": SPECIAL[END], "pad_token": SPECIAL[PADDING]}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
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
    for name, content in (("config.json", config), ("tokenizer_config.json", about)):
        (out / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
