"""Settings: read from the environment, unknown names refused, single-user mode only on loopback or by choice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import Misconfigured


def test_by_default_the_service_has_a_single_user_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("STRATAGRAPH_"):
            monkeypatch.delenv(name)
    settings = Settings.load()
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.is_single_user
    assert settings.data_dir == Path(".stratagraph").absolute()


@pytest.mark.parametrize(
    ("given", "single"),
    [
        ({"host": "127.0.0.1"}, True),
        ({"host": "::1"}, True),
        ({"host": "localhost"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "192.0.2.1"}, False),
        ({"database_url": "postgresql://x"}, False),
        ({"database_url": "postgresql://x", "single_user": "on"}, True),
        ({"single_user": "off"}, False),
    ],
)
def test_single_user_mode_is_the_default_only_on_loopback_with_the_embedded_database(
    given: dict[str, str], single: bool
) -> None:
    assert Settings.load({}, **given).is_single_user is single


def test_single_user_mode_is_refused_on_an_address_beyond_loopback() -> None:
    with pytest.raises(Misconfigured, match="loopback"):
        Settings.load({}, single_user="on", host="0.0.0.0")


def test_a_misspelt_setting_is_refused_with_a_suggestion() -> None:
    with pytest.raises(Misconfigured, match="did you mean STRATAGRAPH_DATABASE_URL"):
        Settings.load({"STRATAGRAPH_DATABSE_URL": "x"})
    with pytest.raises(Misconfigured, match="known settings: "):
        Settings.load({"STRATAGRAPH_XYZZY": "x"})


def test_the_error_for_a_wrong_value_names_the_variable_and_not_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATAGRAPH_PORT", "eighty")
    with pytest.raises(Misconfigured, match="STRATAGRAPH_PORT") as caught:
        Settings.load()
    assert "eighty" not in caught.value.message


@pytest.mark.parametrize("other", ["owner_database_url", "worker_database_url"])
def test_other_logins_require_the_database_url(other: str) -> None:
    with pytest.raises(Misconfigured, match="require STRATAGRAPH_DATABASE_URL"):
        Settings.load({}, **{other: "postgresql://x"})
    Settings.load({}, database_url="postgresql://x", **{other: "postgresql://y"})


def test_passwords_are_not_in_the_repr_of_the_settings() -> None:
    settings = Settings.load({}, database_url="postgresql://u:hunter2@h/d", neo4j_password="hunter2")
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("database_url", "postgresql://u:hunter2@h/d"),
        ("owner_database_url", "postgresql://o:hunter2@h/d"),
        ("worker_database_url", "postgresql://w:hunter2@h/d"),
        ("neo4j_password", " hunter2 "),
        ("previous_master_key", "aGk="),
    ],
)
def test_a_secret_may_be_in_a_file(tmp_path: Path, name: str, secret: str) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{secret}\r\n")
    others = {"database_url": "postgresql://x"} if name.endswith("r_database_url") else {}
    settings = Settings.load({}, **others, **{f"{name}_file": file})
    assert getattr(settings, name).get_secret_value() == secret
    assert secret not in repr(settings)
    with pytest.raises(Misconfigured, match=f"set only one of STRATAGRAPH_{name.upper()} and") as caught:
        Settings.load({}, **others | {name: secret}, **{f"{name}_file": file})
    assert secret not in caught.value.message
    for content, complaint in ((b"", "is empty"), (b"\xff\xfe", "not text"), (None, "cannot be read")):
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(Misconfigured, match=f"STRATAGRAPH_{name.upper()}_FILE: .*{complaint}"):
            Settings.load({}, **others, **{f"{name}_file": file})


@pytest.mark.parametrize("name", ["embedder", "extractor"])
@given(
    user_info=st.from_regex(r"[a-z0-9.~%-]{1,8}(:[a-z0-9.~%:!]{0,12})?", fullmatch=True),
    scheme=st.sampled_from(["http", "https"]),
    rest=st.sampled_from(["h", "h:8080/v1", "[::1]:1/v1", "h/v1?a=b@c"]),
)
def test_an_endpoint_has_a_password_in_its_address_or_a_key_and_not_both(
    name: str, user_info: str, scheme: str, rest: str
) -> None:
    def load(address: str, **more: object) -> Settings:
        return Settings.load({}, **{name: "openai", f"{name}_url": address, f"{name}_model": "m"}, **more)

    key = {f"{name}_key": "s3cret"}
    load(f"{scheme}://{rest}", **key)
    load(f"{scheme}://{user_info}@{rest}")
    with pytest.raises(Misconfigured) as caught:
        load(f"{scheme}://{user_info}@{rest}", **key)
    variable = f"STRATAGRAPH_{name.upper()}"
    assert f"{variable}_URL" in caught.value.message
    assert f"{variable}_KEY" in caught.value.message
    assert "s3cret" not in caught.value.message
    assert f"{user_info}@" not in caught.value.message


def test_a_file_with_a_secret_is_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "database_url"
    file.write_text("postgresql://u:hunter2@h/d\n")
    monkeypatch.setenv("STRATAGRAPH_DATABASE_URL_FILE", str(file))
    settings = Settings.load()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://u:hunter2@h/d"
    assert not settings.is_single_user
