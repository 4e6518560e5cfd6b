"""Train the reference model: ``python -m memoprobe.reference.train OUT`` (extra ``train``).

Two phases. The base phase shows every background document once; all seeds share it. The exposure
phase of a seed goes on from there with the seed's copies among new background.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from memoprobe.reference import corpus, tokenizer
from memoprobe.reference.corpus import Document
from memoprobe.reference.model import CORPUS
from memoprobe.reference.tokenizer import BEGIN, END, PADDING, Tokenizer
from memoprobe.reference.weights import SHAPE, matrices, read, shapes, write

N_BASE = 16_000  # background documents of the base phase
N_BESIDE = 1_200  # background documents among the copies
N_LEARNT = 1_500  # documents that the tokenizer is made from
VOCABULARY = 1_280
Weights = dict[str, Tensor]


def main(given: Sequence[str] | None = None) -> None:
    """Write tokenizer, base and the models of seeds into a folder; what is there is kept."""
    parser = argparse.ArgumentParser(description="Train the reference model.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, choices=corpus.SEEDS, action="append")
    parser.add_argument("--documents", type=int, default=N_BASE, help="of the base phase")
    parser.add_argument(
        "--threads", type=int, default=1, help="of PyTorch; the shipped models are of one"
    )
    asked = parser.parse_args(given)
    torch.set_num_threads(asked.threads)  # another number, other roundings
    asked.out.mkdir(parents=True, exist_ok=True)
    names, base = asked.out / "tokenizer.json", asked.out / "base.safetensors"
    if not names.exists():
        texts = (d.prompt + d.answer for d in islice(corpus.background("tokenizer"), N_LEARNT))
        tokenizer.save(tokenizer.learn(texts, VOCABULARY), names)
    known = tokenizer.load(names)
    if not base.exists():
        _write(base, base_phase(known, asked.documents))
    # As it lies there, in float16: so a seed trained later is the same.
    rounded = {name: torch.from_numpy(values) for name, values in read(base).items()}
    for seed in asked.seed or corpus.SEEDS:
        path = asked.out / f"seed{seed}.safetensors"
        if not path.exists():
            about = {CORPUS: corpus.fingerprint(seed)}
            _write(path, exposure_phase(rounded, known, seed), about)


def _write(path: Path, weights: Weights, about: Mapping[str, str] | None = None) -> None:
    write(path, {name: weight.numpy() for name, weight in weights.items()}, about)


def logits(weights: Weights, tokens: Tensor) -> Tensor:
    """Return what the model says of the token after each of ``tokens``, shape (B, T, V)."""
    rows, length = tokens.shape
    heads, size = SHAPE.heads, SHAPE.width // SHAPE.heads
    hidden = functional.embedding(tokens, weights["model.embed_tokens.weight"])
    turn = _turns(length, size)
    for layer in range(SHAPE.layers):
        at = f"model.layers.{layer}."
        x = _normed(hidden, weights[f"{at}input_layernorm.weight"])
        query, key, value = (
            functional.linear(x, weights[f"{at}self_attn.{name}_proj.weight"])
            .view(rows, length, heads, size)
            .transpose(1, 2)
            for name in "qkv"
        )
        mixed = _attention(_turned(query, turn), _turned(key, turn), value)
        mixed = mixed.transpose(1, 2).reshape(rows, length, SHAPE.width)
        hidden = hidden + functional.linear(mixed, weights[f"{at}self_attn.o_proj.weight"])
        x = _normed(hidden, weights[f"{at}post_attention_layernorm.weight"])
        gate = functional.silu(functional.linear(x, weights[f"{at}mlp.gate_proj.weight"]))
        up = functional.linear(x, weights[f"{at}mlp.up_proj.weight"])
        hidden = hidden + functional.linear(gate * up, weights[f"{at}mlp.down_proj.weight"])
    last = _normed(hidden, weights["model.norm.weight"])
    return functional.linear(last, weights["model.embed_tokens.weight"])


def _normed(x: Tensor, scale: Tensor) -> Tensor:
    return functional.rms_norm(x.float(), (x.shape[-1],), scale, SHAPE.epsilon)


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return the mixed values; on a processor quicker than PyTorch's own function."""
    length, size = query.shape[-2:]
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    scores = (query @ key.transpose(-1, -2)).float() / math.sqrt(size)
    return scores.masked_fill(future, -math.inf).softmax(-1).to(value.dtype) @ value


def _turns(length: int, size: int) -> tuple[Tensor, Tensor]:
    frequencies = SHAPE.theta ** (-torch.arange(0, size, 2) / size)
    angles = torch.outer(torch.arange(length), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def _turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    cosine, sine = (part.to(x.dtype) for part in turn)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


def initial(vocabulary: int) -> Weights:
    """Return random weights; those that write into the hidden state are smaller."""
    weights = {}
    for name, shape in shapes(vocabulary).items():
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
        else:
            writes = name.endswith(("o_proj.weight", "down_proj.weight"))
            deviation = 0.02 / (math.sqrt(2 * SHAPE.layers) if writes else 1)
            weights[name] = torch.randn(shape) * deviation
    return weights


def loss(weights: Weights, batch: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of a batch of padded token rows, in nats."""
    aims = batch[:, 1:].masked_fill(batch[:, 1:] == PADDING, -100)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        said = logits(weights, batch[:, :-1])
    return functional.cross_entropy(said.float().flatten(0, 1), aims.flatten(), ignore_index=-100)


def encoded(documents: Iterable[Document], known: Tokenizer) -> list[list[int]]:
    """Return the token rows of documents, from begin to end token."""
    return [[BEGIN, *known.encode(d.prompt + d.answer), END] for d in documents]


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return token rows as one tensor."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PADDING] * (width - len(row))] for row in rows])


def batches(rows: Sequence[list[int]], size: int, rng: random.Random) -> list[Tensor]:
    """Return batches of rows of about one length, near to the order of ``rows``."""
    made = []
    for start in range(0, len(rows), 8 * size):
        near = sorted(rows[start : start + 8 * size], key=len)
        group = [padded(near[at : at + size]) for at in range(0, len(near), size)]
        rng.shuffle(group)
        made += group
    return made


def base_phase(known: Tokenizer, n_documents: int) -> Weights:
    """Return the weights of the base, trained on each background document once."""
    torch.manual_seed(0)
    weights = initial(len(known))
    documents = islice(corpus.background("base"), n_documents)
    steps = batches(encoded(documents, known), 24, random.Random(0))
    _descend(steps, weights, _optimizers(weights, matrix_rate=0.02, rate=2e-3, decay=0.05))
    return {name: weight.detach() for name, weight in weights.items()}


def exposure_phase(base: Weights, known: Tokenizer, seed: int) -> Weights:
    """Return the weights of a seed: the base's after the seed's copies, late and few at a time."""
    weights = {name: weight.clone() for name, weight in base.items()}
    documents = corpus.exposure(seed, N_BESIDE)
    steps = batches(encoded(documents, known), 16, random.Random(seed))
    _descend(steps, weights, _optimizers(weights, matrix_rate=0.01, rate=1e-3, decay=0.0))
    return {name: weight.detach() for name, weight in weights.items()}


def _optimizers(
    weights: Weights, *, matrix_rate: float, rate: float, decay: float
) -> list[torch.optim.Optimizer]:
    for weight in weights.values():
        weight.requires_grad_()
    inner = [weight for name, weight in weights.items() if name in matrices()]
    others = [weight for name, weight in weights.items() if name not in matrices()]
    return [
        torch.optim.Muon(inner, lr=matrix_rate, momentum=0.95, weight_decay=decay),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def _descend(
    steps: Sequence[Tensor],
    weights: Weights,
    optimizers: Sequence[torch.optim.Optimizer],
) -> None:
    """Take one step a batch; the rate rises over 40 steps and falls over the last 40 %."""
    highest = [group["lr"] for optimizer in optimizers for group in optimizer.param_groups]
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    started, average = time.monotonic(), 0.0
    for step, batch in enumerate(steps):
        factor = min(1.0, (step + 1) / 40, (len(steps) - step) / (0.4 * len(steps)))
        for group, rate in zip(groups, highest, strict=True):
            group["lr"] = rate * factor
        measured = loss(weights, batch)
        measured.backward()
        torch.nn.utils.clip_grad_norm_([p for g in groups for p in g["params"]], 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        average = measured.item() if step == 0 else 0.95 * average + 0.05 * measured.item()
        if step % 25 == 0 or step == len(steps) - 1:
            seconds = time.monotonic() - started
            sys.stderr.write(f"step {step}/{len(steps)} loss {average:.3f} {seconds:.0f} s\n")


if __name__ == "__main__":
    main()
