"""Say what the reference model's weights are called and how they are shaped; read and write them.

Names, shapes and files are those of transformers' LlamaForCausalLM.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Shape(NamedTuple):
    """Hold the sizes of the model beside its vocabulary."""

    layers: int = 4
    width: int = 256
    heads: int = 4
    inner: int = 640  # of the feed-forward part
    context: int = 512  # tokens of prompt and answer together
    theta: float = 10_000.0
    epsilon: float = 1e-5


SHAPE = Shape()
_ABOUT = "__metadata__"


def shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight, by name."""
    square, wide = (SHAPE.width, SHAPE.width), (SHAPE.inner, SHAPE.width)
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (SHAPE.width,),
        **{f"self_attn.{name}_proj": square for name in "qkvo"},
        "post_attention_layernorm": (SHAPE.width,),
        "mlp.gate_proj": wide,
        "mlp.up_proj": wide,
        "mlp.down_proj": wide[::-1],
    }
    return {
        "model.embed_tokens.weight": (vocabulary, SHAPE.width),
        **{
            f"model.layers.{number}.{name}.weight": shape
            for number in range(SHAPE.layers)
            for name, shape in layer.items()
        },
        "model.norm.weight": (SHAPE.width,),
    }


def matrices() -> list[str]:
    """Return the names of the layers' matrices."""
    return [name for name, shape in shapes(1).items() if len(shape) == 2 and "layers" in name]


def write(path: Path, tensors: Mapping[str, Array], about: Mapping[str, str] | None = None) -> None:
    """Write tensors in float16 as a safetensors file, with what there is to say about them."""
    header: dict[str, Any] = {_ABOUT: {"format": "pt", **(about or {})}}
    parts, position = [], 0
    for name, tensor in sorted(tensors.items()):
        data = np.ascontiguousarray(tensor, dtype="<f2").tobytes()
        header[name] = {
            "dtype": "F16",
            "shape": list(tensor.shape),
            "data_offsets": [position, position + len(data)],
        }
        parts.append(data)
        position += len(data)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(parts))


def read(path: Path) -> dict[str, Array]:
    """Read the float16 tensors of a safetensors file, as float32."""
    data = path.read_bytes()
    header, start = _header(data)
    return {
        name: np.frombuffer(
            data[start + about["data_offsets"][0] : start + about["data_offsets"][1]], "<f2"
        )
        .reshape(about["shape"])
        .astype(np.float32)
        for name, about in header.items()
        if name != _ABOUT
    }


def about(path: Path) -> dict[str, str]:
    """Return what a safetensors file says of its tensors."""
    header, _ = _header(path.read_bytes())
    found: dict[str, str] = header.get(_ABOUT, {})
    return found


def _header(data: bytes) -> tuple[dict[str, Any], int]:
    """Return a file's header and where the numbers begin."""
    start = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:start]), start
