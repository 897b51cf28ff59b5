"""A server on loopback with files of models, as Hugging Face lays them out, and packages, as an index lists them."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stratagraph.service.embedders.package import ModelPackage

REVISION = "a" * 40


@dataclass
class Hub:
    """A running server. `files` are those of each repository, keyed by `repository/name`; `packages` are wheels.

    `cut` is the number of bytes after which an answer with a file breaks off; `damaged` files are sent with another
    first byte; `ranges` are the `Range` headers of the requests for files, by name.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    cut: int | None = None
    damaged: set[str] = field(default_factory=set)
    ranges: list[tuple[str, str | None]] = field(default_factory=list)

    def add_model(self, repository: str, directory: Path) -> None:
        for path in directory.rglob("*"):
            if path.is_file():
                self.files[f"{repository}/{path.relative_to(directory).as_posix()}"] = path.read_bytes()

    def info(self, repository: str) -> dict[str, Any]:
        names = [name.removeprefix(f"{repository}/") for name in self.files if name.startswith(f"{repository}/")]
        return {
            "id": repository,
            "sha": REVISION,
            "siblings": [_sibling(name, self.files[f"{repository}/{name}"]) for name in sorted(names)],
        }


def _sibling(name: str, content: bytes) -> dict[str, Any]:
    found = {
        "rfilename": name,
        "size": len(content),
        "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
    }
    if name.endswith(".onnx"):  # large files are kept apart from git
        found["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return found


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, hub: Hub, *given: Any) -> None:
        self._hub = hub
        super().__init__(*given)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/")
        first, _, rest = path.partition("/")
        if path.startswith("api/models/"):
            info = self._hub.info(path.removeprefix("api/models/"))
            self._send(json.dumps(info).encode(), "application/json", 200 if info["siblings"] else 404)
        elif first == "simple":
            links = "".join(f'<a href="/wheels/{name}">{name}</a>' for name in self._hub.packages)
            self._send(f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")
        elif first == "wheels" and rest in self._hub.packages:
            self._send(self._hub.packages[rest], "application/octet-stream")
        else:
            self._send_file(path.replace(f"/resolve/{REVISION}/", "/"))

    def _send(self, content: bytes, kind: str, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _send_file(self, path: str) -> None:
        if path not in self._hub.files:
            self._send(b"", "text/plain", 404)
            return
        content, name, asked = self._hub.files[path], path.rpartition("/")[2], self.headers["Range"]
        self._hub.ranges.append((name, asked))
        if name in self._hub.damaged:
            content = b"\0" + content[1:]
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start and start >= len(content):
            self._send(b"", "text/plain", 416)
            return
        self.send_response(206 if start else 200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(content[start:][: self._hub.cut])
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@contextmanager
def hub_server() -> Iterator[Hub]:
    """Run a hub on a free port of loopback."""
    hub = Hub()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, hub)) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


def write_tensors(path: Path, tensors: dict[str, npt.NDArray[np.float32]]) -> None:
    """Write a file in safetensors."""
    header, content = {}, b""
    for name, value in tensors.items():
        raw = value.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [len(content), len(content) + len(raw)]}
        content += raw
    described = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(described)) + described + content)


def package_of(model: Path, name: str) -> tuple[ModelPackage, str, bytes]:
    """Return a package with the files of the directory `model`, the name of its wheel, and the wheel."""
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for path in model.iterdir():
            archive.write(path, path.name)
    module = name.replace("-", "_")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr(f"{module}/model.zip", inner.getvalue())
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        archive.writestr(f"{module}-1.0.dist-info/METADATA", metadata)
        archive.writestr(
            f"{module}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{module}-1.0.dist-info/RECORD", "")
    wheel = outer.getvalue()
    described = ModelPackage(
        model="tiny",
        name=name,
        version="1.0",
        sha256=hashlib.sha256(wheel).hexdigest(),
        archive=f"{module}/model.zip",
        size=len(wheel),
    )
    return described, f"{module}-1.0-py3-none-any.whl", wheel
