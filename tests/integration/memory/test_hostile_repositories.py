"""Repositories whose own configuration names programs: an import runs none of them, and connects to nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from fix_examples import examples
from fix_git import GitRepository, new_repository
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.imports.git_commands import open_repository
from stratagraph.memory.imports.git_commits import Commit, list_commits, read_commits
from stratagraph.store.model.errors import InvalidInput

HOOKS = ("fsmonitor-watchman", "post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout")
# Keys that name a program, or a place of programs, in git's documentation of its configuration.
PROGRAMS = (
    *("alias.rev-parse", "alias.cat-file", "core.alternateRefsCommand", "core.askPass", "core.editor"),
    *("core.fsmonitor", "core.gitProxy", "core.pager", "core.sshCommand", "credential.helper", "diff.external"),
    *("diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.process", "filter.evil.smudge"),
    *("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "gpg.x509.program"),
    *("interactive.diffFilter", "merge.evil.driver", "pager.diff-tree", "pager.rev-list", "pager.rev-parse"),
    *("remote.origin.receivepack", "remote.origin.uploadpack", "sequence.editor", "uploadpack.packObjectsHook"),
)
PLACES = ("core.hooksPath", "init.templateDir")
SWITCHES = (
    *(("core.fsmonitorHookVersion", value) for value in ("1", "2")),
    *(("diff.evil.cachetextconv", "true"), ("filter.evil.required", "true"), ("log.showSignature", "true")),
    *(("core.worktree", "."), ("gc.auto", "1"), ("fetch.bundleURI", "{url}"), ("remote.origin.vcs", "ext")),
    *((f"protocol.{name}allow", "always") for name in ("", "ext.", "file.", "ssh.", "git.")),
)
URLS = (
    "ext::{script} %S",
    "ssh://host.invalid/repository",
    "git://host.invalid/repository",
    "file://{origin}",
    "{origin}",
    "https://host.invalid/repository",
)
ESSENTIAL = ("core.repositoryformatversion", "core.bare", "remote.origin.promisor", "extensions.partialClone")


@dataclass(frozen=True)
class Hostile:
    """A repository that says it is a partial clone. `ran` has what ran; `objects` are a blob and a tree of a commit."""

    repository: GitRepository
    origin: Path
    script: Path
    ran: Path
    config: Path
    objects: dict[str, Path]

    def lose(self, lost: str | None) -> None:
        """Take one of the objects away, so that git would fetch it, or none."""
        for name, path in self.objects.items():
            aside = self.ran.with_name(name)
            if name == lost and path.exists():
                path.replace(aside)
            elif name != lost and aside.exists():
                aside.replace(path)

    def configure(self, settings: list[tuple[str, str]], url: str) -> None:
        """Write the configuration anew. In values, {script}, {hooks}, {origin} and {url} stand for these."""
        self.ran.unlink(missing_ok=True)
        known: dict[str, object] = {
            "script": self.script,
            "hooks": self.repository.path / "hooks",
            "origin": self.origin,
        }
        url = url.format(**known)
        known["url"] = url
        promisor = [("remote.origin.promisor", "true"), ("extensions.partialClone", "origin")]
        every = [("core.repositoryformatversion", "1"), ("core.bare", "false"), *promisor, ("remote.origin.url", url)]
        lines = []
        for key, value in [*((key, value.format(**known)) for key, value in settings), *every]:
            section, _, rest = key.partition(".")
            subsection, _, name = rest.rpartition(".")
            lines.append(f'[{section} "{subsection}"]' if subsection else f"[{section}]")
            lines.append(f'\t{name} = "{value}"')
        self.config.write_text("\n".join(lines) + "\n")

    async def read(self) -> list[Commit]:
        found = await open_repository(self.repository.path)
        return await read_commits(found, await list_commits(found))


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    repository = new_repository(tmp_path / "hostile")
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\nexit 1\n')
    script.chmod(0o755)
    repository.write(".gitattributes", "* diff=evil filter=evil merge=evil\n")
    repository.write("old.txt", "line\n" * 20)
    repository.commit("First")
    repository.git("mv", "old.txt", "new.txt")
    repository.write("new.txt", "line\n" * 20 + "another\n")
    repository.write("second.txt", "second\n")
    blob = repository.git("hash-object", "new.txt").decode().strip()
    head = repository.commit("Second")
    tree = repository.git("rev-parse", "HEAD^{tree}").decode().strip()
    repository.git("tag", "-a", "-m", "tagged", "v1", head)
    origin = repository.clone(tmp_path / "origin", "--bare")
    for hooks in (repository.path / ".git" / "hooks", repository.path / "hooks"):
        hooks.mkdir(exist_ok=True)
        for name in HOOKS:
            shutil.copy(script, hooks / name)
    (repository.path / ".git" / "info" / "attributes").write_text("* diff=evil filter=evil merge=evil\n")
    os.utime(repository.path / "new.txt", (0, 0))  # the index must look at the file again
    store = repository.path / ".git" / "objects"
    objects = {name: store / sha[:2] / sha[2:] for name, sha in (("blob", blob), ("tree", tree))}
    return Hostile(repository, origin, script, ran, repository.path / ".git" / "config", objects)


@pytest.fixture(scope="module")
def known_keys() -> list[str]:
    """All keys that this git knows."""
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout
    return [key for line in listed.splitlines() if "." in (key := line.strip()) and " " not in key]


@pytest.mark.parametrize("lost", ["blob", "tree"])
@pytest.mark.parametrize("url", URLS)
async def test_no_program_runs_that_the_configuration_names_and_nothing_is_fetched(
    hostile: Hostile, url: str, lost: str
) -> None:
    allowed = [(f"protocol.{name}allow", "always") for name in ("", "ext.", "file.", "ssh.", "git.")]
    programs = [(key, "{script}") for key in PROGRAMS]
    hostile.configure([*programs, *((key, "{hooks}") for key in PLACES), *allowed], url)
    hostile.lose(lost)
    store = hostile.repository.path / ".git" / "objects"
    objects = sorted(store.rglob("*"))
    if lost == "tree":
        with pytest.raises(InvalidInput, match="partial clone that lacks directories"):
            await hostile.read()
    else:
        commits = await hostile.read()
        assert [commit.subject for commit in commits] == ["First", "Second"]
        assert {change.path.text for change in commits[1].changes} == {"new.txt", "old.txt", "second.txt"}
    assert not hostile.ran.exists(), hostile.ran.read_text()
    assert sorted(store.rglob("*")) == objects


@given(data=st.data())
@examples(25)
async def test_no_program_runs_whatever_is_configured(
    hostile: Hostile, known_keys: list[str], data: st.DataObject
) -> None:
    """Keys are also drawn from all that this git knows, so that those of a later git are tried."""
    named = st.sampled_from(PROGRAMS).map(lambda key: (key, "{script}"))
    place = st.sampled_from(PLACES).map(lambda key: (key, "{hooks}"))
    switch = st.sampled_from(SWITCHES)
    known = st.sampled_from(known_keys).map(lambda key: (_filled_in(key), "{script}"))
    settings = data.draw(st.lists(st.one_of(named, named, place, switch, known), max_size=12))
    settings = [one for one in settings if one[0] not in ESSENTIAL]
    hostile.configure(settings, data.draw(st.sampled_from(URLS)))
    hostile.lose(data.draw(st.sampled_from([None, "blob", "tree"])))
    with suppress(InvalidInput):  # a key that git cannot read is an error of git's
        await hostile.read()
    assert not hostile.ran.exists(), hostile.ran.read_text()


def _filled_in(key: str) -> str:
    """Return a key of git's list with a name in place of each <placeholder>.

    >>> _filled_in("remote.<name>.vcs"), _filled_in("pager.<cmd>")
    ('remote.origin.vcs', 'pager.evil')
    """
    known = {"name": "origin"}
    parts = [known.get(part[1:-1], "evil") if part.startswith("<") else part for part in key.split(".")]
    return ".".join(part.replace("*", "evil") for part in parts)
