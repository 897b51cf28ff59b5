"""Read the master key that the settings name, and open the vault with it."""

from __future__ import annotations

from stratagraph.service.settings import Settings
from stratagraph.store.keys.sealing.master import MasterKey, from_file, from_hook, from_text, make_file
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import Database

MASTER_KEY_FILE = "master.key"  # in the data directory; only with the embedded database


async def open_vault(settings: Settings, database: Database, *, previous: MasterKey | None = None) -> Vault:
    """Return the vault, after checking that the master key opens the keys it wraps.

    With the embedded database and no master key in the settings, the first start makes one in the data directory.
    `previous` is the master key being exchanged; by default, STRATAGRAPH_PREVIOUS_MASTER_KEY. Raises Misconfigured
    where the key is missing or wrong; then nothing has been written.
    """
    master = from_settings(settings) or await _from_data_dir(settings, database)
    if master is None and settings.encryption_level is not None:
        raise Misconfigured(
            "No master key is set. STRATAGRAPH_DATABASE_URL names a database of your own, and records of sensitivity"
            f" {settings.encrypt_from} and above (STRATAGRAPH_ENCRYPT_FROM) are encrypted. Make a key with"
            " `stratagraph keys generate`, store it apart from the database and its backups, and set"
            " STRATAGRAPH_MASTER_KEY or STRATAGRAPH_MASTER_KEY_HOOK; or set STRATAGRAPH_ENCRYPT_FROM=off."
        )
    previous = previous or previous_from_settings(settings)
    vault = Vault(database, master, previous=previous, seal_from=settings.encryption_level)
    await vault.check()
    return vault


def from_settings(settings: Settings) -> MasterKey | None:
    """Return the master key that the settings name; None if they name none. Raises Misconfigured if it is not one."""
    if settings.master_key is not None:
        return from_text(settings.master_key.get_secret_value(), where="STRATAGRAPH_MASTER_KEY")
    if settings.master_key_hook is not None:
        return from_hook(settings.master_key_hook, where="STRATAGRAPH_MASTER_KEY_HOOK")
    return None


def previous_from_settings(settings: Settings) -> MasterKey | None:
    """Return the master key that is being exchanged; None if the settings name none."""
    if settings.previous_master_key is None:
        return None
    return from_text(settings.previous_master_key.get_secret_value(), where="STRATAGRAPH_PREVIOUS_MASTER_KEY")


async def _from_data_dir(settings: Settings, database: Database) -> MasterKey | None:
    if settings.database_url is not None:
        return None
    path = settings.data_dir / MASTER_KEY_FILE
    if not path.exists():
        try:
            await Vault(database).check()
        except Misconfigured as error:
            raise Misconfigured(
                f"{path} is missing, so the encrypted records in this database cannot be read. Restore the file from"
                f" your copy, or set STRATAGRAPH_MASTER_KEY to the key. ({error.message})"
            ) from error
        if settings.encryption_level is None:
            return None
        make_file(path)
    return from_file(path, where="The master key file")
