"""URIs and object keys of artifacts, and opening object stores, without a database."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.artifacts.objects import StoredObject, hash_in, uri_of
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.model.ids import new_id


@given(st.binary(min_size=32, max_size=32))
def test_a_uri_is_parsed_back_to_its_hash(digest: bytes) -> None:
    assert hash_in(uri_of(digest)) == digest
    assert hash_in("sha256:" + digest.hex().upper()) == digest


@pytest.mark.parametrize(
    "text", ["", "sha256:", "sha256:" + "0" * 63, "sha256:" + "0" * 65, "sha256:" + "g" * 64, "SHA256:" + "0" * 64]
)
def test_a_string_of_another_form_is_not_an_artifact_uri(text: str) -> None:
    assert hash_in(text) is None
    assert hash_in(f"{text}\n") is None


def test_an_object_key_begins_with_the_tenant_and_is_unique() -> None:
    first, second = (StoredObject(tenant=7, sha256=bytes(32), id=new_id()) for _ in range(2))
    assert first.key.startswith(f"7/00/{'0' * 64}.")
    assert first.key != second.key


@pytest.mark.parametrize("url", ["memory:///", "http://host/x", "/var/lib", "s3:", "az://container/prefix", "nonsense"])
def test_an_error_about_an_invalid_store_url_names_the_setting_and_not_its_value(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(Misconfigured, match="STRATAGRAPH_ARTIFACT_URL") as caught:
        Blobs.open(url)
    assert url not in caught.value.message


@pytest.mark.parametrize("url", ["s3://bucket/prefix", "gs://bucket/prefix"])
def test_a_bucket_url_is_opened(url: str) -> None:
    assert isinstance(Blobs.open(url), Blobs)


async def test_files_are_stored_below_the_directory_and_readable_by_their_owner_only(tmp_path: Path) -> None:
    blobs = Blobs.open(f"file://{tmp_path}/with%20space/artifacts")
    await blobs.put("7/ab/x", b"hello")
    root = tmp_path / "with space" / "artifacts"
    assert (root / "7" / "ab" / "x").read_bytes() == b"hello"
    assert root.stat().st_mode & 0o077 == 0
    assert await blobs.get("7/ab/x", limit=5) == b"hello"
    assert await blobs.get("7/ab/x", limit=4) is None
    await blobs.remove("7/ab/x")
    await blobs.remove("7/ab/x")
    assert await blobs.get("7/ab/x", limit=5) is None


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file instead of a directory")
    with pytest.raises(Misconfigured, match="writable"):
        Blobs.below(tmp_path / "file" / "artifacts")
