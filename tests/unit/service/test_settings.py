"""Settings: read from the environment, unknown names refused, single-user mode only on loopback or by choice."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.extraction.limits import Limits
from stratagraph.service.health import HealthConfig
from stratagraph.service.processes.group import HANG_S
from stratagraph.service.removed_settings import REMOVED
from stratagraph.service.settings import Settings
from stratagraph.store.erasure.pruning import KEEP_UNLEARNED
from stratagraph.store.keys.directory import MAX_FREE_PREDICATES
from stratagraph.store.keys.rate_buckets import Rate
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
@pytest.mark.parametrize("spelling", [str.lower, str.upper])
def test_a_secret_may_be_in_a_file(tmp_path: Path, name: str, secret: str, spelling: Callable[[str], str]) -> None:
    file = tmp_path / spelling(f"stratagraph_{name}")
    file.write_text(f"{secret}\r\n")
    others = {"database_url": "postgresql://x"} if name.endswith("r_database_url") else {}
    settings = Settings.load({}, **others, secrets_dir=tmp_path)
    assert getattr(settings, name).get_secret_value() == secret
    assert secret not in repr(settings)
    with pytest.raises(Misconfigured, match=f"STRATAGRAPH_{name.upper()} is set twice") as caught:
        Settings.load({}, **others | {name: secret}, secrets_dir=tmp_path)
    assert secret not in caught.value.message
    for content, complaint in ((b"", "is empty"), (b"\xff\xfe", "not text"), (None, "cannot be read")):
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        else:
            file.mkdir()
        with pytest.raises(Misconfigured, match=f"{file.name} .*{complaint}"):
            Settings.load({}, **others, secrets_dir=tmp_path)


def test_a_directory_of_secrets_is_refused_if_a_file_is_no_setting_and_if_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"STRATAGRAPH_SECRETS_DIR: .*/none cannot be read"):
        Settings.load({}, secrets_dir=tmp_path / "none")
    (tmp_path / "database_url").write_text("postgresql://x")  # without the prefix, a file may be of something else
    with pytest.raises(Misconfigured, match="no file whose name begins with STRATAGRAPH_"):
        Settings.load({}, secrets_dir=tmp_path)
    for name, complaint in (
        ("stratagraph_databse_url", "did you mean STRATAGRAPH_DATABASE_URL"),
        ("STRATAGRAPH_SECRETS_DIR", "unknown setting"),
        ("STRATAGRAPH_DATABASE_URL_FILE", "this setting was removed"),
    ):
        file = tmp_path / name
        file.write_text("s3cret")
        with pytest.raises(Misconfigured, match=f"{name}: .*{complaint}") as caught:
            Settings.load({}, secrets_dir=tmp_path)
        assert "s3cret" not in caught.value.message
        file.unlink()


def test_a_setting_that_was_removed_is_refused_with_what_to_do() -> None:
    with pytest.raises(Misconfigured, match=r"stratagraph_master_key, .* STRATAGRAPH_SECRETS_DIR"):
        Settings.load({"STRATAGRAPH_MASTER_KEY_FILE": "/x"})
    for name, instead in REMOVED.items():
        assert name.lower() not in Settings.model_fields
        with pytest.raises(Misconfigured, match=f"^STRATAGRAPH_{name}: this setting was removed; unset it. ") as caught:
            Settings.load({f"STRATAGRAPH_{name}": "1"})
        assert instead in caught.value.message
        named = re.findall(r"STRATAGRAPH_([A-Z_]+)", instead)
        assert {one.lower() for one in named} <= set(Settings.model_fields), name


def test_the_values_at_which_removed_settings_are_fixed_are_those_of_the_code() -> None:
    fair, clients = Settings.load({}).fair_use, Settings.load({}).connection_limits
    fixed = {
        "DEADLINE_S": fair.deadline_s,
        "EXTRACTOR_REQUESTS": Limits().requests,
        "HANG_TIMEOUT_S": HANG_S,
        "HEAVY_OPERATIONS": fair.heavy,
        "KEEP_UNLEARNED_DAYS": KEEP_UNLEARNED.days,
        "MAX_CONNECTIONS": clients.connections,
        "MAX_FREE_PREDICATES": MAX_FREE_PREDICATES,
        "MAX_LAG_S": HealthConfig().max_lag_s,
        "OPERATIONS": fair.running,
        "OPERATIONS_PER_CREDENTIAL": fair.running_share,
        "TRANSFERS": fair.transfers,
        "TRANSFERS_PER_CREDENTIAL": fair.transfers_share,
        "WAITING_PER_CREDENTIAL": fair.waiting,
        "REQUEST_RATE": fair.requests.per_second,
        "REQUEST_BURST": fair.requests.burst,
        "HEADER_TIMEOUT_S": clients.header_s,
        "BODY_TIMEOUT_S": clients.body_s,
        "IDLE_TIMEOUT_S": clients.idle_s,
    }
    for name, instead in REMOVED.items():
        found = re.search(r"fixed at ([\d,]+)", instead)
        assert (found is not None) is (name in fixed), name
        assert found is None or float(found[1].replace(",", "")) == fixed[name], name
    assert 10 * fair.connections_share == 3 * fair.connections  # three tenths


@given(rate=st.floats(0.001, 1e7), burst=st.floats(100, 1e9))
def test_a_larger_budget_allows_more_requests_and_a_smaller_one_no_fewer(rate: float, burst: float) -> None:
    usual, set_ = Settings.load({}).fair_use, Settings.load({}, rate=rate, burst=burst).fair_use
    assert (set_.rate, set_.single_user_rate) == (Rate(per_second=rate, burst=burst),) * 2
    assert set_.requests.per_second == pytest.approx(max(100, rate / 5))
    assert set_.requests.burst == pytest.approx(max(200, burst / 25))
    assert (usual.rate, usual.single_user_rate, usual.requests) == (
        Rate(per_second=500, burst=5_000),
        Rate(per_second=5_000, burst=100_000),
        Rate(per_second=100, burst=200),
    )


def test_there_are_few_enough_settings_to_read() -> None:
    assert len(Settings.model_fields) <= 53


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


def test_the_directory_of_secrets_is_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stratagraph_database_url").write_text("postgresql://u:hunter2@h/d\n")
    monkeypatch.setenv("STRATAGRAPH_SECRETS_DIR", str(tmp_path))
    settings = Settings.load()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://u:hunter2@h/d"
    assert not settings.is_single_user
