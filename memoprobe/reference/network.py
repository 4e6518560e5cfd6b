"""Compute the reference model in NumPy: the architecture of transformers' LlamaForCausalLM."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoprobe.reference.weights import SHAPE, Array

Tokens = NDArray[np.intp]
_HEAD = SHAPE.width // SHAPE.heads


class _Layer(NamedTuple):
    """Hold a layer's weights as they are multiplied from the right."""

    before: Array
    ask: Array  # query, key and value side by side
    mix: Array
    between: Array
    open: Array  # gate and up side by side
    close: Array


class Cache:
    """Hold keys and values of the tokens so far, one row a text."""

    def __init__(self, rows: int) -> None:
        """Make room for ``rows`` texts; the memory is taken when it is written to."""
        shape = (SHAPE.layers, 2, rows, SHAPE.heads, SHAPE.context, _HEAD)
        self.held = np.zeros(shape, np.float32)

    def copy(self, source: int, target: int, length: int) -> None:
        """Make row ``target`` begin as the first ``length`` tokens of another row."""
        self.held[:, :, target, :, :length] = self.held[:, :, source, :, :length]


class Network:
    """Hold the weights, ready for use."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        """Take weights by their names in a file."""
        self._embedding = weights["model.embed_tokens.weight"]
        self._out = np.ascontiguousarray(self._embedding.T)
        self._last = weights["model.norm.weight"]
        self._layers = [_layer(weights, f"model.layers.{n}.") for n in range(SHAPE.layers)]
        frequencies = SHAPE.theta ** (-np.arange(0, _HEAD, 2) / _HEAD)
        angles = np.tile(np.outer(np.arange(SHAPE.context), frequencies), 2)
        self._cosine = np.cos(angles).astype(np.float32)
        self._sine = np.sin(angles).astype(np.float32)

    def read(self, tokens: Tokens, cache: Cache, rows: Tokens) -> Array:
        """Return the hidden states of whole texts, shape (B, T, width), and fill their rows.

        Args:
            tokens: Shape (B, T), padded at the right with any token.
            cache: Where keys and values go.
            rows: The row of each text, shape (B,).
        """
        n_texts, length = tokens.shape
        hidden = self._embedding[tokens]
        turn = self._cosine[:length], self._sine[:length]
        future = np.triu(np.full((length, length), -np.inf, np.float32), 1)
        for number, layer in enumerate(self._layers):
            asked = _normed(hidden, layer.before) @ layer.ask
            heads = asked.reshape(n_texts, length, 3, SHAPE.heads, _HEAD)
            query, key, value = heads.transpose(2, 0, 3, 1, 4)
            query, key = _turned(query, *turn), _turned(key, *turn)
            cache.held[number, 0, rows, :, :length] = key
            cache.held[number, 1, rows, :, :length] = value
            mixed = _softmax(query @ key.swapaxes(-1, -2) / np.float32(_HEAD**0.5) + future) @ value
            mixed = mixed.transpose(0, 2, 1, 3).reshape(n_texts, length, SHAPE.width)
            hidden = _thought(hidden + mixed @ layer.mix, layer)
        return hidden

    def go_on(self, tokens: Tokens, positions: Tokens, cache: Cache) -> Array:
        """Return the hidden states of one more token of each of the first rows, shape (R, width).

        Args:
            tokens: The new token of each row, shape (R,).
            positions: How many tokens each row has before it, shape (R,).
            cache: Is extended by the new tokens.
        """
        n_rows, length = len(tokens), int(positions.max()) + 1
        hidden = self._embedding[tokens]
        turn = self._cosine[positions][:, None], self._sine[positions][:, None]
        every = np.arange(n_rows)
        unread = np.where(
            np.arange(length) > positions[:, None], np.float32(-np.inf), np.float32(0)
        )
        for number, layer in enumerate(self._layers):
            asked = (_normed(hidden, layer.before) @ layer.ask).reshape(n_rows, 3, SHAPE.heads, -1)
            keys, values = cache.held[number, :, :n_rows]
            keys[every, :, positions] = _turned(asked[:, 1], *turn)
            values[every, :, positions] = asked[:, 2]
            query = _turned(asked[:, 0], *turn)[..., None]
            scores = (keys[:, :, :length] @ query)[..., 0] / np.float32(_HEAD**0.5)
            shares = _softmax(scores + unread[:, None])[:, :, None]
            mixed = (shares @ values[:, :, :length]).reshape(n_rows, SHAPE.width)
            hidden = _thought(hidden + mixed @ layer.mix, layer)
        return hidden

    def logits(self, hidden: Array) -> Array:
        """Return what is said of the token after each hidden state, shape (..., vocabulary)."""
        return _normed(hidden, self._last) @ self._out


def log_probabilities(logits: Array) -> Array:
    """Return the natural logarithm of the probabilities that logits stand for."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    found: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return found


def _layer(weights: Mapping[str, Array], at: str) -> _Layer:
    def turned(*names: str) -> Array:
        return np.ascontiguousarray(np.concatenate([weights[f"{at}{n}.weight"] for n in names]).T)

    return _Layer(
        before=weights[f"{at}input_layernorm.weight"],
        ask=turned(*(f"self_attn.{name}_proj" for name in "qkv")),
        mix=turned("self_attn.o_proj"),
        between=weights[f"{at}post_attention_layernorm.weight"],
        open=turned("mlp.gate_proj", "mlp.up_proj"),
        close=turned("mlp.down_proj"),
    )


def _thought(hidden: Array, layer: _Layer) -> Array:
    """Return hidden states after a layer's feed-forward part."""
    opened = _normed(hidden, layer.between) @ layer.open
    gate, up = opened[..., : SHAPE.inner], opened[..., SHAPE.inner :]
    # The logistic function by tanh: exp would overflow.
    passed: Array = gate * (0.5 + 0.5 * np.tanh(0.5 * gate)) * up
    return hidden + passed @ layer.close


def _normed(x: Array, scale: Array) -> Array:
    mean = np.square(x).mean(axis=-1, keepdims=True)
    found: Array = x / np.sqrt(mean + np.float32(SHAPE.epsilon)) * scale
    return found


def _turned(x: Array, cosine: Array, sine: Array) -> Array:
    first, second = x[..., : _HEAD // 2], x[..., _HEAD // 2 :]
    return x * cosine + np.concatenate((-second, first), axis=-1) * sine


def _softmax(x: Array) -> Array:
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    shares: Array = raised / raised.sum(axis=-1, keepdims=True)
    return shares
