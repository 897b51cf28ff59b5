"""A store of LangGraph in the memory: what agents put there is recalled by every other client too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchOp,
        TTLConfig,
        validate_op_namespace,
    )
except ImportError as error:
    raise ImportError("LangGraph is not installed; run: pip install 'stratagraph-client[langgraph]'") from error

from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.errors import Conflict, Forbidden, InvalidInput, NotFound
from stratagraph_client.frameworks.langgraph_filters import fits
from stratagraph_client.frameworks.langgraph_items import (
    PREDICATE,
    StoredItem,
    fact_of,
    stored_item,
    subject_of,
    summary_of,
    tag_under,
    tags_of,
    words_of,
)
from stratagraph_client.frameworks.langgraph_requests import CURRENT, PAGE, look_up
from stratagraph_client.frameworks.operation_steps import Request, Steps, carry_out, carry_out_async

Namespace = tuple[str, ...]
Place = tuple[Namespace, str]

MOST_REVISIONS = 100  # of one transaction
MOST_CAPTURES = 500  # of one transaction; the service takes 1,000
RANKED = 100  # items that a query puts in order; the others follow
REFRESHED_AFTER = 0.1  # of its time to live: an item that is read sooner is not written again
ATTEMPTS = 5  # at deleting several items together while others write them


class StratagraphStore(BaseStore):
    """A store whose items are facts of the memory, current ones only, each found by its namespace and its key.

        with Memory() as memory:
            store = StratagraphStore(memory)
            store.put(("users", "alice"), "food", {"text": "Alice likes pizza"})

    With a Memory the methods work in both ways, the async ones in threads; with an AsyncMemory only the async ones do.
    `scope` is that of all items, or gives the scope of a namespace; the credential must allow it. `index` names the
    fields whose text is searched where `put` does not: None is all of them. `ttl` is as that of other stores, but for
    `sweep_interval_minutes`: expired items are never returned, and need no sweeping. Methods raise StratagraphError.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        scope: str | Callable[[Namespace], str] = "",
        index: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.ttl_config = ttl
        self._memory = memory
        self._scope = scope
        self._index = index
        self._clock = clock

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what reads sees the store as it was before what writes; of two writes the last counts.

        Raises StratagraphError, and TypeError where the store has an AsyncMemory.
        """
        if not isinstance(self._memory, Memory):
            raise TypeError("This store has an AsyncMemory: await aget, aput and asearch, or make it with a Memory.")
        return carry_out(self._memory, self._carry_out(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations as `batch` does. Raises StratagraphError."""
        if isinstance(self._memory, Memory):
            return await asyncio.to_thread(self.batch, list(ops))
        return await carry_out_async(self._memory, self._carry_out(list(ops)))

    def _carry_out(self, ops: Sequence[Op]) -> Steps[list[Result]]:
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = [None] * len(ops)
        gets = {n: op for n, op in enumerate(ops) if isinstance(op, GetOp)}
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        places = dict.fromkeys([*((op.namespace, op.key) for op in gets.values()), *puts])
        stored = yield from self._current(list(places)) if places else _nothing()
        read: dict[str, StoredItem] = {}
        for n, get in gets.items():
            found = [one for one in stored[(get.namespace, get.key)] if self._lives(one)]
            if found:
                results[n] = found[0].as_item()
                read |= {found[0].id: found[0]} if get.refresh_ttl else {}
        for n, op in enumerate(ops):
            if isinstance(op, SearchOp):
                hits = yield from self._search(op)
                results[n] = [one.as_found(score) for one, score in hits]
                read |= {one.id: one for one, _ in hits if op.refresh_ttl}
            elif isinstance(op, ListNamespacesOp):
                results[n] = yield from self._list_namespaces(op)
            elif not isinstance(op, GetOp | PutOp):
                raise ValueError(
                    f"Unknown operation {type(op).__name__}; give GetOp, PutOp, SearchOp, ListNamespacesOp."
                )
        yield from self._refresh([one for one in read.values() if one.place not in puts])
        yield from self._write(puts, stored)
        return results

    def _current(self, places: Sequence[Place]) -> Steps[dict[Place, list[StoredItem]]]:
        """Return the current items of each place, the newest first: one, unless another sensitivity has one too."""
        found = yield from look_up([self._filter_of(*place) for place in places])
        return {
            place: [one for node in nodes if (one := stored_item(node)) is not None and one.place == place]
            for place, nodes in zip(places, found, strict=True)
        }

    def _filter_of(self, namespace: Namespace, key: str) -> dict[str, Any]:
        return {
            "types": ["SEMANTIC"],
            "states": CURRENT,
            "scopes": [self._scope_of(namespace)],
            "subject": subject_of(namespace, key),
            "predicate": PREDICATE,
        }

    def _scope_of(self, namespace: Namespace) -> str:
        return self._scope if isinstance(self._scope, str) else self._scope(namespace)

    def _lives(self, item: StoredItem) -> bool:
        return item.ends_at is None or self._clock() < item.ends_at

    def _walk(
        self, prefix: Namespace, wanted: Callable[[StoredItem], bool], most: int | None
    ) -> Steps[list[StoredItem]]:
        """Return the items under a prefix that are wanted, the last put first; no more pages are read than needed."""
        scopes = {"scopes": [self._scope]} if isinstance(self._scope, str) else {}
        listed = {"types": ["SEMANTIC"], "states": CURRENT, "tags": {"all": [tag_under(prefix)]}} | scopes
        found: dict[Place, StoredItem] = {}
        seen: set[Place] = set()
        after = None
        while most is None or len(found) < most:
            answer = yield Request("ListItems", {"filter": listed, "first": PAGE, "after": after})
            for node in answer["records"]["nodes"]:
                item = stored_item(node)
                if item is None or item.place in seen or not self._belongs(item, prefix):
                    continue
                seen.add(item.place)  # an older one is of another sensitivity
                if self._lives(item) and wanted(item):
                    found[item.place] = item
            page = answer["records"]["pageInfo"]
            if not page["hasNextPage"]:
                break
            after = page["endCursor"]
        return list(found.values())

    def _belongs(self, item: StoredItem, prefix: Namespace) -> bool:
        return item.namespace[: len(prefix)] == prefix and item.scope == self._scope_of(item.namespace)

    def _search(self, op: SearchOp) -> Steps[list[tuple[StoredItem, float | None]]]:
        if op.limit < 0 or op.offset < 0:
            raise ValueError(f"limit {op.limit}, offset {op.offset}: neither may be less than 0.")
        fits({}, op.filter)  # for an unknown operator
        most, prefix = op.offset + op.limit, tuple(op.namespace_prefix)
        hits: list[tuple[StoredItem, float | None]] = []
        if op.query:
            ranked = yield from self._rank(op.query, prefix)
            hits = [(one, score) for one, score in ranked if self._lives(one) and fits(one.value, op.filter)]
        if len(hits) < most:
            known = {one.place for one, _ in hits}
            rest = yield from self._walk(
                prefix, lambda one: one.place not in known and fits(one.value, op.filter), most - len(hits)
            )
            hits += [(one, None) for one in rest]
        return hits[op.offset : most]

    def _rank(self, query: str, prefix: Namespace) -> Steps[list[tuple[StoredItem, float | None]]]:
        """Return the items under a prefix that a query finds, best first.

        The subject of an item begins with its namespace, so that a phrase of these words leaves out other records.
        """
        words = words_of(prefix)
        asked: dict[str, Any] = {
            "taskDescriptor": (f'"{words}" {query}' if words else query)[:20_000],
            "memoryTypes": ["SEMANTIC"],
            "rootLimit": RANKED,
            "nodeLimit": RANKED,
            "maxHops": 0,
            "edgeLimit": 0,
            "minStrength": 0.0,
        }
        if isinstance(self._scope, str):
            asked["scopes"] = [self._scope] if self._scope else []
        try:
            answer = yield Request("RankItems", {"input": asked})
        except Forbidden:  # a scope that the credential does not have: a list of its records is empty, too
            return []
        hits: dict[Place, tuple[StoredItem, float | None]] = {}
        for node in answer["retrieveGraph"]["nodes"]:
            item = stored_item(node["record"]) if node["root"] else None
            if item is None or not item.is_indexed or not self._belongs(item, prefix):
                continue
            known = hits.get(item.place)
            if known is None or known[0].updated_at < item.updated_at:
                hits[item.place] = item, node["score"]
        return sorted(hits.values(), key=lambda hit: -(hit[1] or 0.0))

    def _list_namespaces(self, op: ListNamespacesOp) -> Steps[list[Namespace]]:
        conditions = op.match_conditions or ()
        prefixes = [one.path for one in conditions if one.match_type == "prefix" and "*" not in one.path]
        found = yield from self._walk(max(prefixes, key=len, default=()), lambda _: True, None)
        spaces = {one.namespace for one in found}
        spaces = {one[: op.max_depth] for one in spaces if all(_matches(condition, one) for condition in conditions)}
        return sorted(spaces)[op.offset : op.offset + op.limit]

    def _refresh(self, read: Sequence[StoredItem]) -> Steps[None]:
        """Let items live on from now. One that was written in between, or may not be written, stays as it is."""
        now = self._clock()
        due: list[dict[str, Any]] = []
        for item in read:
            if item.ttl is None or item.ends_at is None or item.ends_at - now > item.ttl * (1 - REFRESHED_AFTER):
                continue
            end = (now + item.ttl).isoformat()
            amended = {
                "recordId": item.id,
                "expectedVersion": item.version,
                "changes": {"validity": {"mode": "timeboxed", "end": end}, "evidence": [_EVIDENCE]},
                "rationale": "The item was read, and lives on.",
            }
            due.append({"amend": amended})
        yield from self._revise(due)

    def _write(self, puts: Mapping[Place, PutOp], stored: Mapping[Place, Sequence[StoredItem]]) -> Steps[None]:
        now = self._clock()
        given = {place: op for place, op in puts.items() if op.value is not None}
        items = [self._capture(op, next(iter(stored[place]), None), now) for place, op in given.items()]
        old: list[StoredItem] = []
        written: list[dict[str, Any]] = []
        for start in range(0, len(items), MOST_CAPTURES):
            answer = yield Request("PutItems", {"input": {"items": items[start : start + MOST_CAPTURES]}})
            written += [one["primaryRecord"] for one in answer["rememberAll"]["results"]]
        for place, record in zip(given, written, strict=True):
            # A value with a secret is stored at a higher sensitivity, where it does not take the place of the old one.
            old += [one for one in stored[place] if one.sensitivity != record["sensitivity"]]
        kept = [record for op, record in zip(given.values(), written, strict=True) if op.ttl is None]
        yield from self._revise([{"pin": {"recordId": one["id"], "pinned": True, "rationale": _KEPT}} for one in kept])
        gone = [place for place, op in puts.items() if op.value is None]
        old += [one for place in gone for one in stored[place]]
        yield from self._remove(old)
        yield from self._remove_names([place for place in gone if stored[place]])

    def _capture(self, op: PutOp, known: StoredItem | None, now: datetime) -> dict[str, Any]:
        namespace, value = tuple(op.namespace), dict(op.value or {})
        index: bool | Sequence[str] = op.index if op.index is not None else self._index or True
        created_at = known.created_at if known is not None and self._lives(known) else now
        fact = fact_of(namespace, op.key, value, index=index, ttl_minutes=op.ttl, created_at=created_at, now=now)
        return {
            "source": self._memory.source,
            "memory": {"fact": fact},
            "summary": summary_of(value, index),
            "tags": tags_of(namespace),
            "scope": self._scope_of(namespace),
        }

    def _remove(self, old: Sequence[StoredItem]) -> Steps[None]:
        """Retract items. One that a put has replaced since it was read stays: of the two writes, that is the last."""
        puts = {one.put for one in old}
        for _ in range(ATTEMPTS):
            try:
                for start in range(0, len(old), MOST_REVISIONS):
                    yield Request(
                        "ReviseItems", {"input": {"items": _retractions(old[start : start + MOST_REVISIONS])}}
                    )
                return
            except (Conflict, NotFound):  # replaced by a put, or by a read that let it live on
                stored = yield from self._current(list(dict.fromkeys(one.place for one in old)))
                old = [one for found in stored.values() for one in found if one.put in puts]
        yield from self._revise(_retractions(old))

    def _remove_names(self, places: Sequence[Place]) -> Steps[None]:
        """Retract the names of deleted items, so that these are not recalled either.

        The service refuses where an item is there again, and where the credential may not see all that it may name.
        """
        retractions: list[dict[str, Any]] = []
        for namespace, key in places:
            name, scope = subject_of(namespace, key), self._scope_of(namespace)
            answer = yield Request("EntityPage", {"name": name, "scope": scope, "first": 10})
            nodes = [one for one in answer["entityPage"]["nodes"] if one["name"] == name and one["scope"] == scope]
            retractions += [{"retract": {"recordId": one["id"], "rationale": _DELETED}} for one in nodes]
        yield from self._revise(retractions)

    def _revise(self, revisions: Sequence[Mapping[str, Any]]) -> Steps[None]:
        """Revise records together, or each by itself where that is refused; what is refused alone stays as it is."""
        for start in range(0, len(revisions), MOST_REVISIONS):
            part = revisions[start : start + MOST_REVISIONS]
            for some in (part, *([one] for one in part if len(part) > 1)):
                try:
                    yield Request("ReviseItems", {"input": {"items": list(some)}})
                except (Conflict, Forbidden, InvalidInput, NotFound):
                    continue
                if some is part:
                    break


def _retractions(items: Sequence[StoredItem]) -> list[dict[str, Any]]:
    return [{"retract": {"recordId": one.id, "rationale": _DELETED}} for one in items]


_DELETED = "Deleted from the store."
_KEPT = "The store keeps the item until it is deleted."
_EVIDENCE = {"kind": "store", "ref": "langgraph"}


def _nothing() -> Steps[dict[Place, list[StoredItem]]]:
    return {}
    yield  # what makes it a generator


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(asked in ("*", label) for asked, label in zip(path, part, strict=True))
