"""Comparing the mirror with Postgres in full, page by page and from both sides.

From Postgres: each record and relation is looked up in the mirror by its key, and everything that the mirror shows of
it is compared. From Neo4j: each node and relationship is classified, and looked up in Postgres, so that what Postgres
does not have is found too, whatever its labels, keys and types look like. Both need memory for one page only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from stratagraph.graph_sync.checkpoints import CHECKPOINTS, LEADER_KEY
from stratagraph.graph_sync.differences import Difference, Drift, Subject
from stratagraph.graph_sync.images import (
    Image,
    compare,
    is_unguarded,
    record_image,
    relation_image,
    shown_record,
    shown_relation,
    version_of,
)
from stratagraph.graph_sync.mapping import node, relation, relationship_type, tombstone_digest
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.schema import MirrorSchema, schema_differences
from stratagraph.graph_sync.statements import (
    OWN_LABELS,
    UUID_PATTERN,
    classify_nodes,
    classify_relationships,
    of_type,
    statement,
)
from stratagraph.store.feed.changes import Kind
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.scrubs import ScrubPhase
from stratagraph.store.mirror.source import MirrorSource, ScanPosition

ROWS = 1_000  # records or relations of one page
ELEMENTS = 5_000  # nodes or relationships of one page
WITHOUT_INDEX = 5_000  # nodes or relationships, up to which keys are looked up without an index
MAX_PARTS = 20_000  # steps, links and tools of one record that are read; a plan has fewer
Key = tuple[int, UUID]

_NODES_FOUND = """WITH n, class WHERE class IN ['foreign', 'edited state', 'record', 'tombstone', 'relation tombstone']
RETURN collect(id(n)) AS element, collect(class) AS class,
  collect(CASE WHEN n.ten IS :: INTEGER NOT NULL THEN n.ten ELSE -1 END) AS ten,
  collect(CASE WHEN n.ver IS :: INTEGER NOT NULL THEN n.ver ELSE -1 END) AS version,
  collect(CASE WHEN class ENDS WITH 'tombstone' THEN [n.gen, n.d] ELSE [] END) AS seal,
  collect(CASE WHEN class IN ['foreign', 'edited state']
    THEN reduce(text = '', label IN labels(n) | left(text + ':' + label, 100)) ELSE n.id END) AS text"""
_RELATIONSHIPS_FOUND = """WITH a, r, b, class WHERE class IS NOT NULL
RETURN collect(id(r)) AS element, collect(class) AS class,
  collect(CASE WHEN a.ten IS :: INTEGER NOT NULL THEN a.ten ELSE -1 END) AS ten,
  collect(CASE WHEN r.ver IS :: INTEGER NOT NULL THEN r.ver ELSE -1 END) AS version,
  collect(type(r)) AS type, collect(CASE WHEN class = 'relation' THEN r.id ELSE '' END) AS id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPage:
    """The result of comparing one page: the number of rows, nodes or relationships, and what differs.

    `end` is where the next page begins; None after the last.
    """

    rows: int
    differences: Sequence[Difference]
    end: ScanPosition | None


class Comparison:
    """Compares pages of the mirror with Postgres. Every method raises MirrorUnavailable or StoreUnavailable."""

    def __init__(self, source: MirrorSource, mirror: Mirror, generations: Generations, directory: Directory) -> None:
        self._source = source
        self._mirror = mirror
        self._generations = generations
        self._directory = directory
        self._schema = MirrorSchema(mirror)
        self._highest_node = -1  # of all nodes, as seen last; to find it, all nodes are read

    async def page(self, phase: ScrubPhase, after: ScanPosition | None, *, tenant: int | None = None) -> ComparedPage:
        """Compare the next page of a phase, of one tenant or, with None, of all.

        For nodes and relationships, the position's `tenant` is the first internal id of the page.
        """
        if phase in (ScrubPhase.RECORDS, ScrubPhase.RELATIONS):
            kind = Kind.RECORD if phase is ScrubPhase.RECORDS else Kind.RELATION
            rows, end = await self._source.scan(kind, after, tenant=tenant, page=ROWS)
            return ComparedPage(rows=len(rows), differences=await self._compare_rows(kind, rows), end=end)
        first = after.tenant if after is not None else 0
        last = await self._last_element(phase)
        if phase is ScrubPhase.NODES and first + ELEMENTS > last:
            if self._highest_node < first + ELEMENTS:
                self._highest_node = (await self._mirror.read(statement("highest_node"), {}))[0]["last"]
            last = max(last, self._highest_node)
        elements = range(first, min(first + ELEMENTS, last + 1))
        found = await self._compare_elements(phase, elements)
        following = ScanPosition(tenant=elements.stop, id=UUID(int=0)) if elements.stop <= last else None
        mine = [one for one in found if tenant is None or one.tenant in (tenant, None)]
        return ComparedPage(rows=len(elements), differences=mine, end=following)

    async def schema(self) -> list[Difference]:
        """Return missing constraints and indexes, foreign constraints, and wrong generations and marks of rebuilds.

        A wrong generation makes the mirror refuse every write for its tenant, so that it is never settled. A mark of a
        rebuild that is not under way keeps an old copy from being rewound.
        """
        predicates = await self._directory.all_predicates()
        differences = schema_differences(await self._schema.missing(predicates), await self._schema.foreign(predicates))
        differences += [
            Difference(drift=Drift.EDITED, subject=Subject.STATE, tenant=tenant, detail="the tenant's generation")
            for tenant in await self._wrong_generations()
        ]
        return differences + [
            Difference(drift=Drift.FOREIGN, subject=Subject.STATE, detail=f"the mark of rebuild {number}")
            for number in await self._stray_rebuilds()
        ]

    async def restore_state(self) -> None:
        """Set the generations of single tenants to those of Postgres, and delete marks of rebuilds not under way."""
        rows = [[tenant, number] for tenant, number in (await self._wrong_generations()).items()]
        if rows:
            await self._mirror.write(statement("restore_generations"), rows=rows)
        if stray := await self._stray_rebuilds():
            await self._mirror.write(statement("delete_rebuild_marks"), gens=stray)

    async def _stray_rebuilds(self) -> list[int]:
        """Return the numbers of generations that the mirror marks as being written, and Postgres does not.

        A rebuild is marked in Postgres first, and its mark in the mirror is deleted soon after that in Postgres, so
        that the mirror is read twice.
        """
        marked = set((await self._mirror.read(statement("list_rebuilds"), {}))[0]["gens"])
        if not marked:
            return []
        marked -= {one.number for one in await self._generations.unfinished()}
        return sorted(marked & set((await self._mirror.read(statement("list_rebuilds"), {}))[0]["gens"]))

    async def _wrong_generations(self) -> dict[int, int | None]:
        """Return the tenants whose generation in the mirror is not Postgres's, with the right one; None: none."""
        found = (await self._mirror.read(statement("list_generations"), {}))[0]["found"]
        numbers = await self._generations.numbers()  # later, because Postgres is ahead of the mirror
        right = {tenant: number for tenant, number in numbers.by_tenant.items() if number > numbers.whole}
        shown = {tenant: number for tenant, number in found if isinstance(tenant, int)}
        wrong: dict[int, int | None] = {
            tenant: number for tenant, number in right.items() if shown.get(tenant) != number
        }
        for tenant, number in shown.items():
            if tenant not in right and (number is None or number != numbers.by_tenant.get(tenant)):
                wrong[tenant] = None
        return wrong

    async def restore_schema(self) -> None:
        """Drop foreign constraints and create missing ones and indexes, after deleting what has the key of another.

        Raises the driver's Neo4jError if somebody writes such a node at the same time.
        """
        predicates = await self._directory.all_predicates()
        await self._schema.drop(await self._schema.foreign(predicates))
        await self._schema.restore(predicates)

    async def phases_without_index(self, schema: Sequence[Difference]) -> set[ScrubPhase]:
        """Return the phases that look up keys of which the index is missing, in a store too large to do without.

        `schema` are the missing constraints. Each key would be looked up by reading all nodes or relationships.
        """
        missing = {one.detail for one in schema}
        phases = set()
        if missing & {"mirrored_key", "plan_step_key"} and await self._mirror.count_elements("(x)") > WITHOUT_INDEX:
            phases.add(ScrubPhase.RECORDS)
        of_relations = any(name.startswith("rel_") for name in missing)
        if of_relations and await self._mirror.count_elements("()-[x]->()") > WITHOUT_INDEX:
            phases.add(ScrubPhase.RELATIONS)
        return phases

    async def still_there(self, differences: Collection[Difference]) -> list[Difference]:
        """Compare again what differed, and return what differs now."""
        found: list[Difference] = []
        for phase, subject in ((ScrubPhase.NODES, Subject.NODE), (ScrubPhase.RELATIONSHIPS, Subject.RELATIONSHIP)):
            row = Subject.RECORD if phase is ScrubPhase.NODES else Subject.RELATION
            elements = [
                element
                for one in differences
                if one.subject is subject or (one.subject is row and one.drift is Drift.ORPHAN)
                for element in one.elements
            ]
            for start in range(0, len(elements), ELEMENTS):
                found += await self._compare_elements(phase, elements[start : start + ELEMENTS])
        for kind, subject in ((Kind.RECORD, Subject.RECORD), (Kind.RELATION, Subject.RELATION)):
            keys = [
                (one.tenant, one.id)
                for one in differences
                if one.subject is subject and one.tenant is not None and one.id is not None
            ]
            for start in range(0, len(keys), ROWS):
                rows = await self._source.rows(kind, keys[start : start + ROWS])
                found += await self._compare_rows(kind, [row for row in rows if row.get("ended_at") is None])
        if any(one.subject in (Subject.CONSTRAINT, Subject.STATE) for one in differences):
            found += await self.schema()
        return found

    async def relationship_types(self) -> list[str]:
        """Return the types of relationships that may be relations: those of Postgres's predicates, and with a key."""
        predicates = await self._directory.all_predicates()
        return sorted({relationship_type(one) for one in predicates} | set(await self._mirror.relationship_types()))

    async def _compare_rows(self, kind: Kind, rows: Sequence[dict[str, Any]]) -> list[Difference]:
        if not rows:
            return []
        accepts = await self._generation_check()
        shown: dict[tuple[int, str], list[tuple[int, Image]]] = {}
        required: dict[tuple[int, str], Image] = {}
        types: dict[tuple[int, str], str] = {}
        keys = {(row["tenant"], str(row["id"])): row for row in rows}
        if kind is Kind.RECORD:
            for key, row in keys.items():
                required[key] = record_image(node(row, generation=0, names_up_to=self._source.names_up_to))
            for ten, id_, *found in await self._fetch(statement("fetch_nodes"), keys, most=MAX_PARTS):
                shown.setdefault((ten, id_), []).append((-1, shown_record(found)))
        else:
            names = await self._directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
            for key, row in keys.items():
                required[key] = relation_image(relation(row, generation=0))
                types[key] = relationship_type(names[row["tenant"], row["predicate"]])
            for one in sorted(set(types.values())):
                alike = [key for key in keys if types[key] == one]
                for element, ten, id_, *found in await self._fetch(of_type("fetch_relations", one), alike):
                    shown.setdefault((ten, id_), []).append((element, shown_relation(found)))
        subject = Subject.RECORD if kind is Kind.RECORD else Subject.RELATION
        differences = []
        for key, row in keys.items():
            compared = _compare(required[key], shown.get(key, ()), partial(accepts, key[0]))
            if compared is not None:
                drift, detail, elements = compared
                images = shown.get(key, ())
                differences.append(
                    Difference(
                        drift=drift,
                        subject=subject,
                        tenant=key[0],
                        id=row["id"],
                        version=row["row_version"],
                        mirrored=version_of(images[0][1]) if images else None,
                        detail=" ".join([types[key], detail]).strip() if key in types else detail,
                        elements=elements if kind is Kind.RELATION else (),
                    )
                )
        return differences

    async def _fetch(self, text: str, keys: Collection[tuple[int, str]], **parameters: Any) -> list[Any]:
        rows = await self._mirror.read(text, {"keys": [list(key) for key in keys], **parameters})
        return list(rows[0]["found"])

    async def _generation_check(self) -> Callable[[int, Any], bool]:
        """Return the function that says whether a tenant's rows may have a generation now.

        While rows are rewritten, those of older generations remain.
        """
        unfinished = bool(await self._generations.unfinished())
        numbers = await self._generations.numbers()

        def accepts(tenant: int, value: Any) -> bool:
            if not isinstance(value, int) or isinstance(value, bool):
                return False
            return 0 < value <= numbers.of(tenant) if unfinished else value == numbers.of(tenant)

        return accepts

    async def _compare_elements(self, phase: ScrubPhase, elements: Sequence[int]) -> list[Difference]:
        if phase is ScrubPhase.NODES:
            return await self._compare_nodes(elements)
        return await self._compare_relationships(elements)

    async def _compare_nodes(self, elements: Sequence[int]) -> list[Difference]:
        parameters = {"elements": list(elements), **classification_parameters(self._generations.mirror)}
        found = (await self._mirror.read(classify_nodes(_NODES_FOUND), parameters))[0]
        names = ("element", "class", "ten", "version", "seal", "text")
        rows = list(zip(*(found[name] for name in names), strict=True))
        records = [(ten, UUID(text)) for _, what, ten, _, _, text in rows if what == "record"]
        tombstones = [(ten, UUID(text)) for _, what, ten, _, _, text in rows if what == "relation tombstone"]
        known = await self._source.existing(Kind.RECORD, records)
        revived = await self._source.existing(Kind.RELATION, tombstones)
        differences = []
        for element, what, ten, version, seal, text in rows:
            tenant = ten if ten >= 0 else None
            if what == "foreign":
                differences.append(_foreign(Subject.NODE, tenant, element, text or "a node without labels"))
            elif what == "edited state":
                differences.append(
                    Difference(drift=Drift.EDITED, subject=Subject.NODE, detail=text, elements=(element,))
                )
            elif what.endswith("tombstone") and seal[1] != tombstone_digest(ten, text, version, seal[0]):
                differences.append(
                    _foreign(Subject.NODE, tenant, element, f"a tombstone of what was never here: {text}")
                )
            elif what == "record" and (ten, UUID(text)) not in known:
                differences.append(_orphan(Subject.RECORD, ten, UUID(text), version, element))
            elif what == "relation tombstone" and (ten, UUID(text)) in revived:
                differences.append(_foreign(Subject.NODE, tenant, element, ":RelTomb of a relation that exists"))
        return differences

    async def _compare_relationships(self, elements: Sequence[int]) -> list[Difference]:
        parameters = {
            "elements": list(elements),
            "types": await self.relationship_types(),
            **classification_parameters(self._generations.mirror),
        }
        found = (await self._mirror.read(classify_relationships(_RELATIONSHIPS_FOUND), parameters))[0]
        names = ("element", "class", "ten", "version", "type", "id")
        found["id"] = [UUID(id_) if id_ else None for id_ in found["id"]]
        rows = list(zip(*(found[name] for name in names), strict=True))
        keys = [(ten, id_) for _, what, ten, _, _, id_ in rows if what == "relation"]
        known = await self._source.existing(Kind.RELATION, keys)
        named = await self._directory.predicate_names({(key[0], predicate) for key, predicate in known.items()})
        differences = []
        for element, what, ten, version, kind, id_ in rows:
            tenant = ten if ten >= 0 else None
            if what != "relation":
                detail = kind if what == "foreign" else f"a node without its label, at {kind}"
                differences.append(_foreign(Subject.RELATIONSHIP, tenant, element, detail))
                continue
            predicate = known.get((ten, id_))
            if predicate is None:
                differences.append(_orphan(Subject.RELATION, ten, id_, version, element, kind))
            elif relationship_type(named[ten, predicate]) != kind:
                differences.append(_foreign(Subject.RELATIONSHIP, tenant, element, f"{kind}, not its own type"))
        return differences

    async def count_elements(self) -> int:
        """Return the number of internal ids that the phases of nodes and relationships go through."""
        return sum([1 + await self._last_element(one) for one in (ScrubPhase.NODES, ScrubPhase.RELATIONSHIPS)])

    async def _last_element(self, phase: ScrubPhase) -> int:
        """Return the highest internal id of a relationship, or of a node with one of the worker's labels.

        -1 if there is none. Nodes that have lost their labels may have higher ids.
        """
        if phase is ScrubPhase.NODES:
            elements = [f"(x:`{label}`)" for label in OWN_LABELS]
        else:
            elements = [f"()-[x:`{one.replace('`', '``')}`]->()" for one in await self._mirror.all_types()]
        last = -1
        for start in range(0, len(elements), 50):
            texts = [statement("last_element").replace("ELEMENT", one) for one in elements[start : start + 50]]
            united = "\nUNION ALL\n".join(texts)
            rows = await self._mirror.read(f"CALL () {{\n{united}\n}}\nRETURN max(last) AS last", {})
            last = max(last, rows[0]["last"] if rows[0]["last"] is not None else -1)
        return last


def classification_parameters(mirror: str) -> dict[str, Any]:
    """Return the parameters by which nodes of the worker's own state are recognised; `mirror` is the mirror's name."""
    return {"uuid": UUID_PATTERN, "checkpoints": [LEADER_KEY, *CHECKPOINTS], "consumer": mirror}


def _compare(
    required: Image, shown: Sequence[tuple[int, Image]], accepts: Callable[[Any], bool]
) -> tuple[Drift, str, tuple[int, ...]] | None:
    """Return how what is shown of one key differs, in what, and the elements to delete; None if it is equal."""
    if not shown:
        return Drift.MISSING, "", ()
    elements = tuple(element for element, _ in shown)
    if len(shown) > 1:
        return Drift.FOREIGN, f"{len(shown)} with this key", elements
    compared = compare(required, shown[0][1], accepts)
    if compared is None:
        return None
    cannot_be_set = shown[0][1].ends != required.ends or is_unguarded(shown[0][1]) or "gen" in compared[1]
    return *compared, elements if cannot_be_set else ()


def _foreign(subject: Subject, tenant: int | None, element: int, detail: str) -> Difference:
    return Difference(drift=Drift.FOREIGN, subject=subject, tenant=tenant, detail=detail, elements=(element,))


def _orphan(subject: Subject, tenant: int, id_: UUID, version: int, element: int, detail: str = "") -> Difference:
    return Difference(
        drift=Drift.ORPHAN,
        subject=subject,
        tenant=tenant,
        id=id_,
        mirrored=version if version >= 0 else None,
        detail=detail,
        elements=(element,),
    )
