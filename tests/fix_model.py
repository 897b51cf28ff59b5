"""A tiny ONNX model with its tokenizer, written here so that fastembed loads it from a directory as it loads any other.

Its vector of a text is the mean of the vectors of its words, which are rows of a table; two words of one meaning have
equal rows. The file format of ONNX is that of protobuf: fields with a number, of the kinds 0 (integer) and 2 (bytes).
"""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

WORDS = ("[PAD]", "[UNK]", "car", "vehicle", "dog", "puppy", "sleeps", "drives", "the", "user")
SAME = {"vehicle": "car", "puppy": "dog"}
DIMENSIONS = 32
_INT64, _FLOAT = 7, 1  # data types of ONNX


def write_model(directory: Path) -> Path:
    """Write the model and its tokenizer to `directory`, and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.onnx").write_bytes(_model())
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    files = {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": {"model_max_length": 64, "pad_token": "[PAD]"},
        "config.json": {"pad_token_id": 0, "hidden_size": DIMENSIONS},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
    }
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content))
    return directory


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    sizes = b"".join(_bytes(1, _bytes(2, one) if isinstance(one, str) else _number(1, one)) for one in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _model() -> bytes:
    rows = []
    for word in WORDS:
        source = random.Random(SAME.get(word, word))
        rows += [source.gauss(0, 1) for _ in range(DIMENSIONS)]
    table = (
        _number(1, len(WORDS))
        + _number(1, DIMENSIONS)
        + _number(2, _FLOAT)
        + _bytes(8, "table")
        + _bytes(9, struct.pack(f"<{len(rows)}f", *rows))
    )
    gather = _bytes(1, "table") + _bytes(1, "input_ids") + _bytes(2, "last_hidden_state") + _bytes(4, "Gather")
    graph = (
        _bytes(1, gather)
        + _bytes(2, "words")
        + _bytes(5, table)
        + _bytes(11, _value("input_ids", _INT64, ("batch", "length")))
        + _bytes(11, _value("attention_mask", _INT64, ("batch", "length")))
        + _bytes(12, _value("last_hidden_state", _FLOAT, ("batch", "length", DIMENSIONS)))
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 13))
