"""Which master key the settings mean, and the vault it opens."""

from __future__ import annotations

from stratagraph.service.settings import Settings
from stratagraph.store.keys.sealing.master import MasterKey, from_file, from_hook, from_text, make_file
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import Database

MASTER_KEY_FILE = "master.key"  # in the data directory, for the embedded database


async def open_vault(settings: Settings, database: Database, *, previous: MasterKey | None = None) -> Vault:
    """The vault, its master key tried on what it wraps.

    With the embedded database and no master key given, one is made in the data directory at the first start. Raises
    Misconfigured where it is missing or the wrong one, before anything is written.
    """
    master = _given(settings) or await _at_home(settings, database)
    if master is None and settings.encryption_level is not None:
        raise Misconfigured(
            "A database of your own needs a master key, since memories from STRATAGRAPH_ENCRYPT_FROM"
            f" ({settings.encrypt_from}) up are encrypted. Make one with `stratagraph keys generate`, keep it apart"
            " from the database and its backups, and set STRATAGRAPH_MASTER_KEY, STRATAGRAPH_MASTER_KEY_FILE or"
            " STRATAGRAPH_MASTER_KEY_HOOK; or set STRATAGRAPH_ENCRYPT_FROM=off."
        )
    if previous is None and settings.previous_master_key is not None:
        previous = from_text(settings.previous_master_key.get_secret_value(), where="STRATAGRAPH_PREVIOUS_MASTER_KEY")
    vault = Vault(database, master, previous=previous, seal_from=settings.encryption_level)
    await vault.check()
    return vault


def _given(settings: Settings) -> MasterKey | None:
    if settings.master_key is not None:
        return from_text(settings.master_key.get_secret_value(), where="STRATAGRAPH_MASTER_KEY")
    if settings.master_key_file is not None:
        return from_file(settings.master_key_file, where="STRATAGRAPH_MASTER_KEY_FILE")
    if settings.master_key_hook is not None:
        return from_hook(settings.master_key_hook, where="STRATAGRAPH_MASTER_KEY_HOOK")
    return None


async def _at_home(settings: Settings, database: Database) -> MasterKey | None:
    if settings.database_url is not None:
        return None
    path = settings.data_dir / MASTER_KEY_FILE
    if not path.exists():
        try:
            await Vault(database).check()
        except Misconfigured as error:
            raise Misconfigured(
                f"{path} is missing, and without it what is encrypted in this database cannot be read. Put it back from"
                f" where you keep a copy, or give the key as STRATAGRAPH_MASTER_KEY. ({error.message})"
            ) from error
        if settings.encryption_level is None:
            return None
        make_file(path)
    return from_file(path, where="The master key file")
