"""The tables, as SQLAlchemy Core. The migrations build the same schema; a test compares the two.

Conventions: `tenant` is the first column of every key, ids are UUIDv7, times are timestamptz, names and free text are
in content columns only, and any other identifier of a record is a keyed hash. See docs/data-model.md.
"""

from stratagraph.store.postgres.schema.tables.audit import audit, audit_head, audit_note
from stratagraph.store.postgres.schema.tables.base import metadata
from stratagraph.store.postgres.schema.tables.capture import candidate, idempotency, retrieval, retrieval_use
from stratagraph.store.postgres.schema.tables.census import census, census_count
from stratagraph.store.postgres.schema.tables.content import (
    artifact,
    artifact_reference,
    artifact_removal,
    artifact_upload,
    erased_source,
    tombstone,
)
from stratagraph.store.postgres.schema.tables.duplicates import (
    duplicate_due,
    duplicate_key,
    duplicate_pair,
    duplicate_progress,
)
from stratagraph.store.postgres.schema.tables.embeddings import embedding, embedding_model
from stratagraph.store.postgres.schema.tables.entities import entity_term, link_request
from stratagraph.store.postgres.schema.tables.episodes import episode, episode_event
from stratagraph.store.postgres.schema.tables.erasure import erasure
from stratagraph.store.postgres.schema.tables.facts import fact, fact_predicate, fact_slot, fact_trim
from stratagraph.store.postgres.schema.tables.feed import (
    mirror_generation,
    mirror_leader,
    sync_cursor,
    sync_dead_letter,
    sync_feed,
    sync_log,
    sync_snapshot,
    sync_worker,
)
from stratagraph.store.postgres.schema.tables.intake import received_span
from stratagraph.store.postgres.schema.tables.jobs import job, job_set_aside
from stratagraph.store.postgres.schema.tables.learning import (
    extraction,
    learned_example,
    learned_model,
    learned_signature,
    learned_tool,
    learning_change,
    learning_relation,
    learning_report,
    learning_run,
    lesson_use,
    refused_procedure,
)
from stratagraph.store.postgres.schema.tables.limits import rate_bucket, rate_lease
from stratagraph.store.postgres.schema.tables.merges import (
    entity_merge,
    entity_merge_record,
    entity_merge_relation,
    entity_merge_slot,
    entity_merge_term,
)
from stratagraph.store.postgres.schema.tables.propagation import reevaluation
from stratagraph.store.postgres.schema.tables.records import (
    lifecycle_history,
    record,
    record_history,
    relation,
    salience,
)
from stratagraph.store.postgres.schema.tables.search import word_block, word_change, word_count, word_segment
from stratagraph.store.postgres.schema.tables.tenancy import (
    credential,
    data_key,
    free_predicate,
    predicate,
    scope,
    tenant,
)

__all__ = [
    "artifact",
    "artifact_reference",
    "artifact_removal",
    "artifact_upload",
    "audit",
    "audit_head",
    "audit_note",
    "candidate",
    "census",
    "census_count",
    "credential",
    "data_key",
    "duplicate_due",
    "duplicate_key",
    "duplicate_pair",
    "duplicate_progress",
    "embedding",
    "embedding_model",
    "entity_merge",
    "entity_merge_record",
    "entity_merge_relation",
    "entity_merge_slot",
    "entity_merge_term",
    "entity_term",
    "episode",
    "episode_event",
    "erased_source",
    "erasure",
    "extraction",
    "fact",
    "fact_predicate",
    "fact_slot",
    "fact_trim",
    "free_predicate",
    "idempotency",
    "job",
    "job_set_aside",
    "learned_example",
    "learned_model",
    "learned_signature",
    "learned_tool",
    "learning_change",
    "learning_relation",
    "learning_report",
    "learning_run",
    "lesson_use",
    "lifecycle_history",
    "link_request",
    "metadata",
    "mirror_generation",
    "mirror_leader",
    "predicate",
    "rate_bucket",
    "rate_lease",
    "received_span",
    "record",
    "record_history",
    "reevaluation",
    "refused_procedure",
    "relation",
    "retrieval",
    "retrieval_use",
    "salience",
    "scope",
    "sync_cursor",
    "sync_dead_letter",
    "sync_feed",
    "sync_log",
    "sync_snapshot",
    "sync_worker",
    "tenant",
    "tombstone",
    "word_block",
    "word_change",
    "word_count",
    "word_segment",
]
