"""Writing a BERT model as ONNX from its weights in safetensors, without torch or the packages of either format.

ONNX is a protobuf message: fields with a number, of the kinds 0 (integer) and 2 (bytes), nested. safetensors is a JSON
header with the place of each tensor, and their bytes.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
_OPSET, _IR_VERSION = 17, 8  # the first with LayerNormalization
_TYPES = {"float32": 1, "int64": 7}  # data types of ONNX
_INTEGER, _FLOAT, _INTEGERS = 2, 1, 7  # kinds of attributes


def write_model(weights: Path, config: Path, to: Path) -> None:
    """Write the BERT model of `weights` and `config` to the file `to`, which gives a vector for each token.

    Raises ValueError if the model is of another kind.
    """
    said = json.loads(config.read_text(encoding="utf-8"))
    if (said["model_type"], said["hidden_act"]) != ("bert", "gelu"):
        raise ValueError(f"{config} is no BERT model with gelu, which alone can be converted")
    to.write_bytes(_bert(_read_tensors(weights), said))


def _read_tensors(path: Path) -> dict[str, Array]:
    """Return the tensors of a file in safetensors, keyed by their names without the name of the model."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    start = 8 + length
    found: dict[str, Array] = {}
    for name, entry in json.loads(content[8:start]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(content, np.dtype("<f4"), (end - begin) // 4, start + begin)
        found[name.removeprefix("bert.")] = flat.reshape(entry["shape"])
    return found


@dataclass
class _Graph:
    """The nodes and constants of a model so far."""

    weights: Mapping[str, Array]
    nodes: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: float | Sequence[int]) -> str:
        """Add a node and return the name of its output."""
        made = output or f"t{next(self._numbers)}"
        parts = [_bytes(1, one) for one in inputs]
        parts += [_bytes(2, made), _bytes(4, kind)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self.nodes.append(b"".join(parts))
        return made

    def constant(self, value: Array) -> str:
        name = f"c{next(self._numbers)}"
        shape = b"".join(_number(1, size) for size in value.shape)
        content = np.ascontiguousarray(value).tobytes()
        self.constants.append(shape + _number(2, _TYPES[str(value.dtype)]) + _bytes(8, name) + _bytes(9, content))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name])

    def linear(self, x: str, name: str) -> str:
        product = self.op("MatMul", x, self.constant(self.weights[f"{name}.weight"].T))
        return self.op("Add", product, self.weight(f"{name}.bias"))

    def norm(self, x: str, name: str, epsilon: float) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, x: str) -> str:
        erf = self.op("Erf", self.op("Mul", x, self.number(math.sqrt(0.5))))
        return self.op("Mul", self.op("Mul", x, self.number(0.5)), self.op("Add", erf, self.number(1.0)))


def _bert(weights: Mapping[str, Array], config: Mapping[str, Any]) -> bytes:
    graph = _Graph(weights)
    op, epsilon = graph.op, float(config["layer_norm_eps"])
    length = op("Gather", op("Shape", "input_ids"), graph.integers(1), axis=0)
    places = op(
        "Slice", graph.weight("embeddings.position_embeddings.weight"), graph.integers(0), length, graph.integers(0)
    )
    words = op("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    types = op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    x = graph.norm(op("Add", op("Add", words, places), types), "embeddings.LayerNorm", epsilon)
    mask = op("Unsqueeze", op("Cast", "attention_mask", to=_TYPES["float32"]), graph.integers(1, 2))
    hidden = op("Mul", op("Sub", graph.number(1.0), mask), graph.number(-1e9))
    for layer in range(config["num_hidden_layers"]):
        x = _layer(graph, x, hidden, f"encoder.layer.{layer}", config)
    op("Identity", x, output=OUTPUT)
    described = b"".join(_bytes(5, one) for one in graph.constants)
    described += b"".join(_bytes(11, _value(name, "int64", "batch", "length")) for name in INPUTS)
    described += _bytes(12, _value(OUTPUT, "float32", "batch", "length", config["hidden_size"]))
    whole = b"".join(_bytes(1, node) for node in graph.nodes) + _bytes(2, "bert") + described
    return _number(1, _IR_VERSION) + _bytes(7, whole) + _bytes(8, _bytes(1, "") + _number(2, _OPSET))


def _layer(graph: _Graph, x: str, hidden: str, name: str, config: Mapping[str, Any]) -> str:
    """Add attention and the feed-forward network; `hidden` is what is added to the scores of padding."""
    op, heads, epsilon = graph.op, config["num_attention_heads"], float(config["layer_norm_eps"])
    size = config["hidden_size"] // heads
    split, joined = graph.integers(0, 0, heads, size), graph.integers(0, 0, heads * size)

    def part(which: str, *order: int) -> str:
        projected = graph.linear(x, f"{name}.attention.self.{which}")
        return op("Transpose", op("Reshape", projected, split), perm=order)

    scores = op("MatMul", part("query", 0, 2, 1, 3), part("key", 0, 2, 3, 1))
    scaled = op("Mul", scores, graph.number(size**-0.5))
    attention = op("MatMul", op("Softmax", op("Add", scaled, hidden), axis=-1), part("value", 0, 2, 1, 3))
    flat = op("Reshape", op("Transpose", attention, perm=(0, 2, 1, 3)), joined)
    projected = graph.linear(flat, f"{name}.attention.output.dense")
    x = graph.norm(op("Add", x, projected), f"{name}.attention.output.LayerNorm", epsilon)
    wide = graph.gelu(graph.linear(x, f"{name}.intermediate.dense"))
    return graph.norm(op("Add", x, graph.linear(wide, f"{name}.output.dense")), f"{name}.output.LayerNorm", epsilon)


def _varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1  # a negative number is its two's complement
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _number(place: int, value: int) -> bytes:
    return _varint(place << 3) + _varint(value)


def _bytes(place: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return _varint(place << 3 | 2) + _varint(len(content)) + content


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, _INTEGER)
    if isinstance(value, float):
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
    return _bytes(1, name) + b"".join(_number(8, one) for one in value) + _number(20, _INTEGERS)


def _value(name: str, kind: str, *shape: str | int) -> bytes:
    sizes = b"".join(_bytes(1, _bytes(2, one) if isinstance(one, str) else _number(1, one)) for one in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES[kind]) + _bytes(2, sizes)))
