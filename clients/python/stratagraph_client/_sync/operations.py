from collections.abc import Iterator
from datetime import datetime
from typing import Any, Optional, Union

from ..operations.amend import Amend, AmendAmend
from ..operations.audit_log import AuditLog, AuditLogAuditLog
from ..operations.base_model import UNSET, UnsetType
from ..operations.capture_memories import CaptureMemories, CaptureMemoriesCaptureMemories
from ..operations.capture_memory import CaptureMemory, CaptureMemoryCaptureMemory
from ..operations.changed import Changed, ChangedChanged
from ..operations.changes import Changes, ChangesChanges
from ..operations.consolidation_runs import ConsolidationRuns, ConsolidationRunsConsolidationRuns
from ..operations.contest import Contest, ContestContest
from ..operations.credit_lessons import CreditLessons, CreditLessonsCreditLessons
from ..operations.delete_record import DeleteRecord, DeleteRecordDeleteRecord
from ..operations.disputes import Disputes, DisputesDisputes
from ..operations.drop_capture import DropCapture, DropCaptureDropCapture
from ..operations.duplicate_candidates import (
    DuplicateCandidates,
    DuplicateCandidatesDuplicateCandidates,
)
from ..operations.entity_page import EntityPage, EntityPageEntityPage
from ..operations.enums import LessonWindow, RecordOrder
from ..operations.erase import Erase, EraseErase
from ..operations.expand import Expand, ExpandExpand
from ..operations.explain_path import ExplainPath, ExplainPathExplainPath
from ..operations.fading import Fading, FadingFading
from ..operations.failed_captures import FailedCaptures, FailedCapturesFailedCaptures
from ..operations.fork import Fork, ForkFork
from ..operations.fork_record import ForkRecord, ForkRecordForkRecord
from ..operations.health import Health, HealthHealth
from ..operations.history import History, HistoryHistory
from ..operations.impact import Impact, ImpactImpact
from ..operations.input_types import (
    AmendInput,
    CaptureMemoriesInput,
    CaptureMemoryInput,
    ChangeFilter,
    ContestInput,
    CreditLessonsInput,
    DeleteRecordInput,
    EraseInput,
    ForkInput,
    ForkRecordInput,
    LearnAgainInput,
    LearnLessonInput,
    MergeInput,
    PenalizeInput,
    PinInput,
    RecordFilter,
    RecordHandle,
    ReinforceInput,
    RejectDuplicateInput,
    RememberAllInput,
    RememberInput,
    RemoveLessonInput,
    ReportOutcomeInput,
    ReportOutcomesInput,
    ResolveContestInput,
    RetireLessonsInput,
    RetractInput,
    RetrieveGraphInput,
    ReviseRecordsInput,
    SetPredicateInput,
    SupersedeInput,
    SupersedeRecordInput,
    UndoRunInput,
    UnmergeInput,
    VerifyLessonInput,
)
from ..operations.learn_again import LearnAgain, LearnAgainLearnAgain
from ..operations.learn_lesson import LearnLesson, LearnLessonLearnLesson
from ..operations.lesson_page import LessonPage, LessonPageLessonPage
from ..operations.merge import Merge, MergeMerge
from ..operations.metrics import Metrics, MetricsMetrics
from ..operations.penalize import Penalize, PenalizePenalize
from ..operations.pin import Pin, PinPin
from ..operations.plan_diff import PlanDiff, PlanDiffPlanDiff
from ..operations.plan_graph import PlanGraph, PlanGraphPlanGraph
from ..operations.plan_versions import PlanVersions, PlanVersionsPlanVersions
from ..operations.plans_containing import PlansContaining, PlansContainingPlansContaining
from ..operations.playbook import Playbook, PlaybookPlaybook
from ..operations.predicates import Predicates, PredicatesPredicates
from ..operations.predicates_in_use import PredicatesInUse, PredicatesInUsePredicatesInUse
from ..operations.recent_failures import RecentFailures
from ..operations.record import Record, RecordRecord
from ..operations.record_by_handle import RecordByHandle, RecordByHandleRecordByHandle
from ..operations.records import Records, RecordsRecords
from ..operations.reevaluations import Reevaluations, ReevaluationsReevaluations
from ..operations.reinforce import Reinforce, ReinforceReinforce
from ..operations.reject_duplicate import RejectDuplicate, RejectDuplicateRejectDuplicate
from ..operations.related_entities import RelatedEntities, RelatedEntitiesRelatedEntities
from ..operations.relation_page import RelationPage, RelationPageRecord
from ..operations.remember import Remember, RememberRemember
from ..operations.remember_all import RememberAll, RememberAllRememberAll
from ..operations.remove_lesson import RemoveLesson, RemoveLessonRemoveLesson
from ..operations.report_outcome import ReportOutcome, ReportOutcomeReportOutcome
from ..operations.report_outcomes import ReportOutcomes, ReportOutcomesReportOutcomes
from ..operations.resolve_contest import ResolveContest, ResolveContestResolveContest
from ..operations.retire_lessons import RetireLessons, RetireLessonsRetireLessons
from ..operations.retract import Retract, RetractRetract
from ..operations.retrieve_graph import RetrieveGraph, RetrieveGraphRetrieveGraph
from ..operations.retry_capture import RetryCapture, RetryCaptureRetryCapture
from ..operations.revise_records import ReviseRecords, ReviseRecordsReviseRecords
from ..operations.revision_impact import RevisionImpact, RevisionImpactRevisionImpact
from ..operations.revision_rules import RevisionRules, RevisionRulesRevisionRules
from ..operations.set_predicate import SetPredicate, SetPredicateSetPredicate
from ..operations.slot_history import SlotHistory, SlotHistorySlotHistory
from ..operations.supersede import Supersede, SupersedeSupersede
from ..operations.supersede_record import SupersedeRecord, SupersedeRecordSupersedeRecord
from ..operations.tags_in_use import TagsInUse, TagsInUseTagsInUse
from ..operations.thread import Thread, ThreadThread
from .transport import Transport
from ..operations.typed_record import TypedRecord, TypedRecordRecord
from ..operations.undo_run import UndoRun, UndoRunUndoRun
from ..operations.unmerge import Unmerge, UnmergeUnmerge
from ..operations.verify_lesson import VerifyLesson, VerifyLessonVerifyLesson
from ..operations.why_not import WhyNot, WhyNotWhyNot


def gql(q: str) -> str:
    return q


class Operations(Transport):
    def remember(self, input: RememberInput, **kwargs: Any) -> RememberRemember:
        query = gql("""
            mutation Remember($input: RememberInput!) {
              remember(input: $input) {
                __typename
                ... on CaptureMemorySuccess {
                  ...CapturedFields
                }
                ...ErrorFields
              }
            }

            fragment CapturedFields on CaptureMemorySuccess {
              primaryRecord {
                ...RecordFields
              }
              createdRecords {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Remember", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Remember.model_validate(data).remember

    def remember_all(
        self, input: RememberAllInput, **kwargs: Any
    ) -> RememberAllRememberAll:
        query = gql("""
            mutation RememberAll($input: RememberAllInput!) {
              rememberAll(input: $input) {
                __typename
                ... on CaptureMemoriesSuccess {
                  results {
                    ...CapturedFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment CapturedFields on CaptureMemorySuccess {
              primaryRecord {
                ...RecordFields
              }
              createdRecords {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="RememberAll", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RememberAll.model_validate(data).rememberAll

    def capture_memory(
        self, input: CaptureMemoryInput, **kwargs: Any
    ) -> CaptureMemoryCaptureMemory:
        query = gql("""
            mutation CaptureMemory($input: CaptureMemoryInput!) {
              captureMemory(input: $input) {
                __typename
                ... on CaptureMemorySuccess {
                  ...CapturedFields
                }
                ...ErrorFields
              }
            }

            fragment CapturedFields on CaptureMemorySuccess {
              primaryRecord {
                ...RecordFields
              }
              createdRecords {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="CaptureMemory", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return CaptureMemory.model_validate(data).captureMemory

    def capture_memories(
        self, input: CaptureMemoriesInput, **kwargs: Any
    ) -> CaptureMemoriesCaptureMemories:
        query = gql("""
            mutation CaptureMemories($input: CaptureMemoriesInput!) {
              captureMemories(input: $input) {
                __typename
                ... on CaptureMemoriesSuccess {
                  results {
                    ...CapturedFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment CapturedFields on CaptureMemorySuccess {
              primaryRecord {
                ...RecordFields
              }
              createdRecords {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="CaptureMemories", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return CaptureMemories.model_validate(data).captureMemories

    def failed_captures(
        self,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> FailedCapturesFailedCaptures:
        query = gql("""
            query FailedCaptures($first: Int, $after: String) {
              failedCaptures(first: $first, after: $after) {
                nodes {
                  candidateId
                  batchId
                  position
                  actor
                  sourceKind
                  scope
                  sensitivity
                  stage
                  error
                  attempts
                  nextTryAt
                  createdAt
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }
            """)
        variables: dict[str, object] = {"first": first, "after": after}
        response = self.execute(
            query=query, operation_name="FailedCaptures", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return FailedCaptures.model_validate(data).failedCaptures

    def retry_capture(self, id: str, **kwargs: Any) -> RetryCaptureRetryCapture:
        query = gql("""
            mutation RetryCapture($id: ID!) {
              retryCapture(id: $id) {
                __typename
                ... on RetryCaptureSuccess {
                  captures {
                    candidateId
                    sequence
                    record {
                      ...RecordFields
                    }
                  }
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = self.execute(
            query=query, operation_name="RetryCapture", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RetryCapture.model_validate(data).retryCapture

    def drop_capture(self, id: str, **kwargs: Any) -> DropCaptureDropCapture:
        query = gql("""
            mutation DropCapture($id: ID!) {
              dropCapture(id: $id) {
                __typename
                ... on DropCaptureSuccess {
                  candidateIds
                }
                ...ErrorFields
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = self.execute(
            query=query, operation_name="DropCapture", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return DropCapture.model_validate(data).dropCapture

    def changes(
        self,
        after: Union[Optional[str], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        filter_: Union[Optional[ChangeFilter], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> ChangesChanges:
        query = gql("""
            query Changes($after: String, $first: Int, $filter: ChangeFilter) {
              changes(after: $after, first: $first, filter: $filter) {
                nodes {
                  ...ChangeFields
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment ChangeFields on Change {
              position
              kind
              at
              recordId
              record {
                ...RecordFields
              }
              relationId
              relation {
                ...RelationFields
              }
              run {
                id
                state
                scope
                sensitivity
              }
              cause {
                action
                actor
                rationale
                runId
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }
            """)
        variables: dict[str, object] = {
            "after": after,
            "first": first,
            "filter": filter_,
        }
        response = self.execute(
            query=query, operation_name="Changes", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Changes.model_validate(data).changes

    def changed(
        self,
        after: Union[Optional[str], UnsetType] = UNSET,
        filter_: Union[Optional[ChangeFilter], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Iterator[ChangedChanged]:
        query = gql("""
            subscription Changed($after: String, $filter: ChangeFilter) {
              changed(after: $after, filter: $filter) {
                ...ChangeFields
              }
            }

            fragment ChangeFields on Change {
              position
              kind
              at
              recordId
              record {
                ...RecordFields
              }
              relationId
              relation {
                ...RelationFields
              }
              run {
                id
                state
                scope
                sensitivity
              }
              cause {
                action
                actor
                rationale
                runId
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }
            """)
        variables: dict[str, object] = {"after": after, "filter": filter_}
        for data in self.execute_ws(
            query=query, operation_name="Changed", variables=variables, **kwargs
        ):
            yield Changed.model_validate(data).changed

    def explain_path(
        self,
        from_: str,
        to: str,
        k: Union[Optional[int], UnsetType] = UNSET,
        maxHops: Union[Optional[int], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        atLeastSequence: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> ExplainPathExplainPath:
        query = gql("""
            query ExplainPath($from: ID!, $to: ID!, $k: Int, $maxHops: Int, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
              explainPath(
                from: $from
                to: $to
                k: $k
                maxHops: $maxHops
                asOf: $asOf
                validAt: $validAt
                atLeastSequence: $atLeastSequence
              ) {
                __typename
                ... on PathExplanation {
                  paths {
                    sentence
                    weight
                    nodes {
                      ...RecordFields
                    }
                    relations {
                      ...RelationFields
                    }
                  }
                  reached
                  hubs
                  freshness {
                    ...FreshnessFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment FreshnessFields on Freshness {
              engine
              fallback
              mirrorLagSeconds
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {
            "from": from_,
            "to": to,
            "k": k,
            "maxHops": maxHops,
            "asOf": asOf,
            "validAt": validAt,
            "atLeastSequence": atLeastSequence,
        }
        response = self.execute(
            query=query, operation_name="ExplainPath", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ExplainPath.model_validate(data).explainPath

    def impact(
        self,
        id: str,
        hops: Union[Optional[int], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        atLeastSequence: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> ImpactImpact:
        query = gql("""
            query Impact($id: ID!, $hops: Int, $first: Int, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
              impact(
                id: $id
                hops: $hops
                first: $first
                asOf: $asOf
                validAt: $validAt
                atLeastSequence: $atLeastSequence
              ) {
                __typename
                ... on Impact {
                  record {
                    ...RecordFields
                  }
                  counts {
                    hop
                    type
                    count
                  }
                  total
                  nodes {
                    record {
                      ...RecordFields
                    }
                    hop
                    strength
                    viaId
                  }
                  reached
                  hubs
                  freshness {
                    ...FreshnessFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment FreshnessFields on Freshness {
              engine
              fallback
              mirrorLagSeconds
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {
            "id": id,
            "hops": hops,
            "first": first,
            "asOf": asOf,
            "validAt": validAt,
            "atLeastSequence": atLeastSequence,
        }
        response = self.execute(
            query=query, operation_name="Impact", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Impact.model_validate(data).impact

    def related_entities(
        self,
        id: str,
        first: Union[Optional[int], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        atLeastSequence: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> RelatedEntitiesRelatedEntities:
        query = gql("""
            query RelatedEntities($id: ID!, $first: Int, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
              relatedEntities(
                id: $id
                first: $first
                asOf: $asOf
                validAt: $validAt
                atLeastSequence: $atLeastSequence
              ) {
                __typename
                ... on RelatedEntities {
                  record {
                    ...RecordFields
                  }
                  entities {
                    entity {
                      ...RecordFields
                    }
                    shared
                    weight
                    memoryIds
                  }
                  hasMore
                  reached
                  hubs
                  freshness {
                    ...FreshnessFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment FreshnessFields on Freshness {
              engine
              fallback
              mirrorLagSeconds
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {
            "id": id,
            "first": first,
            "asOf": asOf,
            "validAt": validAt,
            "atLeastSequence": atLeastSequence,
        }
        response = self.execute(
            query=query, operation_name="RelatedEntities", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RelatedEntities.model_validate(data).relatedEntities

    def expand(
        self,
        id: str,
        loadedIds: Union[Optional[list[str]], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        atLeastSequence: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> ExpandExpand:
        query = gql("""
            query Expand($id: ID!, $loadedIds: [ID!], $first: Int, $after: String, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
              expand(
                id: $id
                loadedIds: $loadedIds
                first: $first
                after: $after
                asOf: $asOf
                validAt: $validAt
                atLeastSequence: $atLeastSequence
              ) {
                __typename
                ... on Expansion {
                  record {
                    ...RecordFields
                  }
                  neighbours {
                    record {
                      ...RecordFields
                    }
                    weight
                    degree
                    more
                    hub
                  }
                  relations {
                    ...RelationFields
                  }
                  between {
                    ...RelationFields
                  }
                  pageInfo {
                    hasNextPage
                    endCursor
                  }
                  reached
                  freshness {
                    ...FreshnessFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment FreshnessFields on Freshness {
              engine
              fallback
              mirrorLagSeconds
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {
            "id": id,
            "loadedIds": loadedIds,
            "first": first,
            "after": after,
            "asOf": asOf,
            "validAt": validAt,
            "atLeastSequence": atLeastSequence,
        }
        response = self.execute(
            query=query, operation_name="Expand", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Expand.model_validate(data).expand

    def fading(
        self,
        until: datetime,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> FadingFading:
        query = gql("""
            query Fading($until: DateTime!, $first: Int, $after: String) {
              fading(until: $until, first: $first, after: $after) {
                totalCount
                nodes {
                  record {
                    ...RecordFields
                  }
                  dueAt
                  awaitsLearning
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"until": until, "first": first, "after": after}
        response = self.execute(
            query=query, operation_name="Fading", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Fading.model_validate(data).fading

    def erase(self, input: EraseInput, **kwargs: Any) -> EraseErase:
        query = gql("""
            mutation Erase($input: EraseInput!) {
              erase(input: $input) {
                __typename
                ... on EraseSuccess {
                  receipt {
                    id
                    kind
                    actor
                    startedAt
                    at
                    counts {
                      name
                      count
                    }
                    salt
                    targetHash
                    hashes
                    digest
                    elsewhere
                    elsewhereComplete
                  }
                  replayed
                }
                ...ErrorFields
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Erase", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Erase.model_validate(data).erase

    def consolidation_runs(
        self,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> ConsolidationRunsConsolidationRuns:
        query = gql("""
            query ConsolidationRuns($first: Int, $after: String) {
              consolidationRuns(first: $first, after: $after) {
                nodes {
                  ...RunFields
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RunFields on ConsolidationRun {
              id
              state
              beganAt
              updatedAt
              episodes
              setAside
              stages {
                ...StageFields
              }
              groups {
                scope
                sensitivity
                episodes
                setAside
                undoneAt
                undoneBy
                canUndo
                stages {
                  ...StageFields
                }
              }
            }

            fragment StageFields on StageReport {
              name
              inputs
              outputs
              merges
              seconds
              cost {
                unit
                amount
              }
              skips {
                reason
                count
              }
            }
            """)
        variables: dict[str, object] = {"first": first, "after": after}
        response = self.execute(
            query=query,
            operation_name="ConsolidationRuns",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return ConsolidationRuns.model_validate(data).consolidationRuns

    def undo_run(self, input: UndoRunInput, **kwargs: Any) -> UndoRunUndoRun:
        query = gql("""
            mutation UndoRun($input: UndoRunInput!) {
              undoRun(input: $input) {
                __typename
                ... on UndoRunSuccess {
                  run {
                    ...RunFields
                  }
                  undone
                  kept {
                    record {
                      ...RecordFields
                    }
                    reason
                  }
                  keptTotal
                  complete
                }
                ...ErrorFields
              }
            }

            fragment RunFields on ConsolidationRun {
              id
              state
              beganAt
              updatedAt
              episodes
              setAside
              stages {
                ...StageFields
              }
              groups {
                scope
                sensitivity
                episodes
                setAside
                undoneAt
                undoneBy
                canUndo
                stages {
                  ...StageFields
                }
              }
            }

            fragment StageFields on StageReport {
              name
              inputs
              outputs
              merges
              seconds
              cost {
                unit
                amount
              }
              skips {
                reason
                count
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="UndoRun", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return UndoRun.model_validate(data).undoRun

    def learn_again(
        self, input: LearnAgainInput, **kwargs: Any
    ) -> LearnAgainLearnAgain:
        query = gql("""
            mutation LearnAgain($input: LearnAgainInput!) {
              learnAgain(input: $input) {
                __typename
                ... on LearnAgainSuccess {
                  episodes
                }
                ...ErrorFields
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="LearnAgain", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return LearnAgain.model_validate(data).learnAgain

    def duplicate_candidates(
        self,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> DuplicateCandidatesDuplicateCandidates:
        query = gql("""
            query DuplicateCandidates($first: Int, $after: String) {
              duplicateCandidates(first: $first, after: $after) {
                nodes {
                  records {
                    ...RecordFields
                  }
                  score
                  evidence {
                    signal
                    bits
                  }
                  foundAt
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"first": first, "after": after}
        response = self.execute(
            query=query,
            operation_name="DuplicateCandidates",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return DuplicateCandidates.model_validate(data).duplicateCandidates

    def reject_duplicate(
        self, input: RejectDuplicateInput, **kwargs: Any
    ) -> RejectDuplicateRejectDuplicate:
        query = gql("""
            mutation RejectDuplicate($input: RejectDuplicateInput!) {
              rejectDuplicate(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="RejectDuplicate", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RejectDuplicate.model_validate(data).rejectDuplicate

    def predicates(self, **kwargs: Any) -> list[PredicatesPredicates]:
        query = gql("""
            query Predicates {
              predicates {
                ...PredicateFields
              }
            }

            fragment PredicateFields on FactPredicate {
              name
              singleValued
              objectKind
              builtIn
            }
            """)
        variables: dict[str, object] = {}
        response = self.execute(
            query=query, operation_name="Predicates", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Predicates.model_validate(data).predicates

    def set_predicate(
        self, input: SetPredicateInput, **kwargs: Any
    ) -> SetPredicateSetPredicate:
        query = gql("""
            mutation SetPredicate($input: SetPredicateInput!) {
              setPredicate(input: $input) {
                __typename
                ... on SetPredicateSuccess {
                  predicate {
                    ...PredicateFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment PredicateFields on FactPredicate {
              name
              singleValued
              objectKind
              builtIn
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="SetPredicate", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SetPredicate.model_validate(data).setPredicate

    def learn_lesson(
        self, input: LearnLessonInput, **kwargs: Any
    ) -> LearnLessonLearnLesson:
        query = gql("""
            mutation LearnLesson($input: LearnLessonInput!) {
              learnLesson(input: $input) {
                __typename
                ... on LearnLessonSuccess {
                  lesson {
                    ...RecordFields
                  }
                  merged
                  retiredIds
                  receipt {
                    ...ReceiptFields
                  }
                  replayed
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="LearnLesson", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return LearnLesson.model_validate(data).learnLesson

    def verify_lesson(
        self, input: VerifyLessonInput, **kwargs: Any
    ) -> VerifyLessonVerifyLesson:
        query = gql("""
            mutation VerifyLesson($input: VerifyLessonInput!) {
              verifyLesson(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="VerifyLesson", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return VerifyLesson.model_validate(data).verifyLesson

    def remove_lesson(
        self, input: RemoveLessonInput, **kwargs: Any
    ) -> RemoveLessonRemoveLesson:
        query = gql("""
            mutation RemoveLesson($input: RemoveLessonInput!) {
              removeLesson(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="RemoveLesson", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RemoveLesson.model_validate(data).removeLesson

    def credit_lessons(
        self, input: CreditLessonsInput, **kwargs: Any
    ) -> CreditLessonsCreditLessons:
        query = gql("""
            mutation CreditLessons($input: CreditLessonsInput!) {
              creditLessons(input: $input) {
                __typename
                ... on LessonsChanged {
                  lessonIds
                }
                ...ErrorFields
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="CreditLessons", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return CreditLessons.model_validate(data).creditLessons

    def retire_lessons(
        self, input: RetireLessonsInput, **kwargs: Any
    ) -> RetireLessonsRetireLessons:
        query = gql("""
            mutation RetireLessons($input: RetireLessonsInput!) {
              retireLessons(input: $input) {
                __typename
                ... on LessonsChanged {
                  lessonIds
                }
                ...ErrorFields
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="RetireLessons", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RetireLessons.model_validate(data).retireLessons

    def lesson_page(
        self,
        query: Union[Optional[str], UnsetType] = UNSET,
        scope: Union[Optional[str], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        window: Union[Optional[LessonWindow], UnsetType] = UNSET,
        timeZone: Union[Optional[str], UnsetType] = UNSET,
        source: Union[Optional[str], UnsetType] = UNSET,
        trigger: Union[Optional[str], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> LessonPageLessonPage:
        _query = gql("""
            query LessonPage($query: String, $scope: String, $first: Int, $after: String, $window: LessonWindow, $timeZone: String, $source: String, $trigger: String, $asOf: DateTime) {
              lessonPage(
                query: $query
                scope: $scope
                first: $first
                after: $after
                window: $window
                timeZone: $timeZone
                source: $source
                trigger: $trigger
                asOf: $asOf
              ) {
                nodes {
                  ...RecordFields
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {
            "query": query,
            "scope": scope,
            "first": first,
            "after": after,
            "window": window,
            "timeZone": timeZone,
            "source": source,
            "trigger": trigger,
            "asOf": asOf,
        }
        response = self.execute(
            query=_query, operation_name="LessonPage", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return LessonPage.model_validate(data).lessonPage

    def playbook(
        self,
        query: Union[Optional[str], UnsetType] = UNSET,
        scope: Union[Optional[str], UnsetType] = UNSET,
        limit: Union[Optional[int], UnsetType] = UNSET,
        tokenBudget: Union[Optional[int], UnsetType] = UNSET,
        recordRetrievals: Union[Optional[bool], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> PlaybookPlaybook:
        _query = gql("""
            query Playbook($query: String, $scope: String, $limit: Int, $tokenBudget: Int, $recordRetrievals: Boolean) {
              playbook(
                query: $query
                scope: $scope
                limit: $limit
                tokenBudget: $tokenBudget
                recordRetrievals: $recordRetrievals
              ) {
                text
                lessonIds
                playbookId
              }
            }
            """)
        variables: dict[str, object] = {
            "query": query,
            "scope": scope,
            "limit": limit,
            "tokenBudget": tokenBudget,
            "recordRetrievals": recordRetrievals,
        }
        response = self.execute(
            query=_query, operation_name="Playbook", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Playbook.model_validate(data).playbook

    def recent_failures(
        self,
        scope: Union[Optional[str], UnsetType] = UNSET,
        limit: Union[Optional[int], UnsetType] = UNSET,
        tokenBudget: Union[Optional[int], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> str:
        query = gql("""
            query RecentFailures($scope: String, $limit: Int, $tokenBudget: Int) {
              recentFailures(scope: $scope, limit: $limit, tokenBudget: $tokenBudget)
            }
            """)
        variables: dict[str, object] = {
            "scope": scope,
            "limit": limit,
            "tokenBudget": tokenBudget,
        }
        response = self.execute(
            query=query, operation_name="RecentFailures", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RecentFailures.model_validate(data).recentFailures

    def plan_graph(
        self,
        id: str,
        version: Union[Optional[str], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        group: Union[Optional[str], UnsetType] = UNSET,
        atLeastSequence: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[PlanGraphPlanGraph]:
        query = gql("""
            query PlanGraph($id: ID!, $version: String, $asOf: DateTime, $group: ID, $atLeastSequence: String) {
              planGraph(
                id: $id
                version: $version
                asOf: $asOf
                group: $group
                atLeastSequence: $atLeastSequence
              ) {
                id
                planId
                version
                composed
                intent
                state
                validFrom
                validTo
                collapsed
                stepCount
                linkCount
                criticalPath
                metrics {
                  avgLatencyMs
                  failureRate
                  executionCount
                  lastExecutedAt
                }
                steps {
                  id
                  label
                  kind
                  op
                  params
                  guards
                  rank
                  order
                  depth
                  count
                  status
                  executions
                  failures
                }
                links {
                  id
                  source
                  target
                  kind
                  count
                }
              }
            }
            """)
        variables: dict[str, object] = {
            "id": id,
            "version": version,
            "asOf": asOf,
            "group": group,
            "atLeastSequence": atLeastSequence,
        }
        response = self.execute(
            query=query, operation_name="PlanGraph", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return PlanGraph.model_validate(data).planGraph

    def plan_versions(
        self,
        planId: str,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> list[PlanVersionsPlanVersions]:
        query = gql("""
            query PlanVersions($planId: String!, $asOf: DateTime) {
              planVersions(planId: $planId, asOf: $asOf) {
                version
                stepCount
                current
                record {
                  ...RecordFields
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"planId": planId, "asOf": asOf}
        response = self.execute(
            query=query, operation_name="PlanVersions", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return PlanVersions.model_validate(data).planVersions

    def plan_diff(
        self, planId: str, from_: str, to: str, **kwargs: Any
    ) -> Optional[PlanDiffPlanDiff]:
        query = gql("""
            query PlanDiff($planId: String!, $from: String!, $to: String!) {
              planDiff(planId: $planId, from: $from, to: $to) {
                planId
                fromId
                toId
                sameStructure
                addedSteps {
                  id
                  op
                  params
                }
                removedSteps {
                  id
                  op
                  params
                }
                changedSteps {
                  id
                  fields
                  before
                  after
                }
                addedLinks {
                  source
                  target
                  kind
                }
                removedLinks {
                  source
                  target
                  kind
                }
              }
            }
            """)
        variables: dict[str, object] = {"planId": planId, "from": from_, "to": to}
        response = self.execute(
            query=query, operation_name="PlanDiff", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return PlanDiff.model_validate(data).planDiff

    def plans_containing(
        self,
        ops: list[str],
        first: Union[Optional[int], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        atLeastSequence: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> PlansContainingPlansContaining:
        query = gql("""
            query PlansContaining($ops: [String!]!, $first: Int, $asOf: DateTime, $atLeastSequence: String) {
              plansContaining(
                ops: $ops
                first: $first
                asOf: $asOf
                atLeastSequence: $atLeastSequence
              ) {
                __typename
                ... on PlanMatches {
                  plans {
                    record {
                      ...RecordFields
                    }
                    steps {
                      id
                      op
                    }
                  }
                  hasMore
                  reached
                  freshness {
                    ...FreshnessFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment FreshnessFields on Freshness {
              engine
              fallback
              mirrorLagSeconds
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {
            "ops": ops,
            "first": first,
            "asOf": asOf,
            "atLeastSequence": atLeastSequence,
        }
        response = self.execute(
            query=query, operation_name="PlansContaining", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return PlansContaining.model_validate(data).plansContaining

    def record(
        self,
        id: str,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[RecordRecord]:
        query = gql("""
            query Record($id: ID!, $asOf: DateTime, $validAt: DateTime) {
              record(id: $id, asOf: $asOf, validAt: $validAt) {
                ...RecordFields
                interpretation
                namedTimes {
                  words
                  start
                  end
                }
                textReading {
                  state
                  attempts
                  nextTryAt
                }
                provenance {
                  createdBy
                  sources {
                    kind
                    ref
                    timestamp
                    hash
                    createdBy
                  }
                }
                relations {
                  ...RelationFields
                }
                lifecycle {
                  decay {
                    curve
                    halfLifeSeconds
                    minSalience
                    maxAgeSeconds
                    reinforcementGain
                  }
                  deletionPolicy
                  dueAt
                  lastReinforcedAt
                  pinned
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id, "asOf": asOf, "validAt": validAt}
        response = self.execute(
            query=query, operation_name="Record", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Record.model_validate(data).record

    def records(
        self,
        filter_: Union[Optional[RecordFilter], UnsetType] = UNSET,
        order: Union[Optional[RecordOrder], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> RecordsRecords:
        query = gql("""
            query Records($filter: RecordFilter, $order: RecordOrder, $asOf: DateTime, $first: Int, $after: String) {
              records(
                filter: $filter
                order: $order
                asOf: $asOf
                first: $first
                after: $after
              ) {
                nodes {
                  ...RecordFields
                }
                cut
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {
            "filter": filter_,
            "order": order,
            "asOf": asOf,
            "first": first,
            "after": after,
        }
        response = self.execute(
            query=query, operation_name="Records", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Records.model_validate(data).records

    def entity_page(
        self,
        name: str,
        scope: Union[Optional[str], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> EntityPageEntityPage:
        query = gql("""
            query EntityPage($name: String!, $scope: String, $first: Int, $after: String, $asOf: DateTime) {
              entityPage(
                name: $name
                scope: $scope
                first: $first
                after: $after
                asOf: $asOf
              ) {
                nodes {
                  ...RecordFields
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {
            "name": name,
            "scope": scope,
            "first": first,
            "after": after,
            "asOf": asOf,
        }
        response = self.execute(
            query=query, operation_name="EntityPage", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return EntityPage.model_validate(data).entityPage

    def tags_in_use(
        self,
        scopes: Union[Optional[list[str]], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> TagsInUseTagsInUse:
        query = gql("""
            query TagsInUse($scopes: [String!], $first: Int, $after: String) {
              tagsInUse(scopes: $scopes, first: $first, after: $after) {
                ...LabelFields
              }
            }

            fragment LabelFields on LabelConnection {
              nodes {
                name
                uses
              }
              pageInfo {
                hasNextPage
                endCursor
              }
              complete
              looked
            }
            """)
        variables: dict[str, object] = {
            "scopes": scopes,
            "first": first,
            "after": after,
        }
        response = self.execute(
            query=query, operation_name="TagsInUse", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return TagsInUse.model_validate(data).tagsInUse

    def predicates_in_use(
        self,
        scopes: Union[Optional[list[str]], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> PredicatesInUsePredicatesInUse:
        query = gql("""
            query PredicatesInUse($scopes: [String!], $first: Int, $after: String) {
              predicatesInUse(scopes: $scopes, first: $first, after: $after) {
                ...LabelFields
              }
            }

            fragment LabelFields on LabelConnection {
              nodes {
                name
                uses
              }
              pageInfo {
                hasNextPage
                endCursor
              }
              complete
              looked
            }
            """)
        variables: dict[str, object] = {
            "scopes": scopes,
            "first": first,
            "after": after,
        }
        response = self.execute(
            query=query, operation_name="PredicatesInUse", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return PredicatesInUse.model_validate(data).predicatesInUse

    def record_by_handle(
        self,
        handle: RecordHandle,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[RecordByHandleRecordByHandle]:
        query = gql("""
            query RecordByHandle($handle: RecordHandle!, $asOf: DateTime, $validAt: DateTime) {
              recordByHandle(handle: $handle, asOf: $asOf, validAt: $validAt) {
                ...RecordFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {
            "handle": handle,
            "asOf": asOf,
            "validAt": validAt,
        }
        response = self.execute(
            query=query, operation_name="RecordByHandle", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RecordByHandle.model_validate(data).recordByHandle

    def relation_page(
        self,
        id: str,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[RelationPageRecord]:
        query = gql("""
            query RelationPage($id: ID!, $first: Int, $after: String) {
              record(id: $id) {
                relationPage(first: $first, after: $after) {
                  nodes {
                    ...RelationFields
                  }
                  pageInfo {
                    hasNextPage
                    endCursor
                  }
                }
              }
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id, "first": first, "after": after}
        response = self.execute(
            query=query, operation_name="RelationPage", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RelationPage.model_validate(data).record

    def slot_history(
        self,
        id: str,
        first: Union[Optional[int], UnsetType] = UNSET,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> list[SlotHistorySlotHistory]:
        query = gql("""
            query SlotHistory($id: ID!, $first: Int, $asOf: DateTime) {
              slotHistory(id: $id, first: $first, asOf: $asOf) {
                ...RecordFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"id": id, "first": first, "asOf": asOf}
        response = self.execute(
            query=query, operation_name="SlotHistory", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SlotHistory.model_validate(data).slotHistory

    def disputes(
        self,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> DisputesDisputes:
        query = gql("""
            query Disputes($first: Int, $after: String) {
              disputes(first: $first, after: $after) {
                nodes {
                  parties {
                    ...RecordFields
                  }
                  since
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"first": first, "after": after}
        response = self.execute(
            query=query, operation_name="Disputes", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Disputes.model_validate(data).disputes

    def thread(
        self,
        id: str,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        first: Union[Optional[int], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[ThreadThread]:
        query = gql("""
            query Thread($id: String!, $asOf: DateTime, $first: Int) {
              thread(id: $id, asOf: $asOf) {
                id
                working {
                  ...RecordFields
                }
                turns(first: $first) {
                  nodes {
                    ...RecordFields
                  }
                  pageInfo {
                    hasNextPage
                    endCursor
                  }
                }
                episodes(first: $first) {
                  nodes {
                    ...RecordFields
                  }
                  pageInfo {
                    hasNextPage
                    endCursor
                  }
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"id": id, "asOf": asOf, "first": first}
        response = self.execute(
            query=query, operation_name="Thread", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Thread.model_validate(data).thread

    def history(
        self,
        id: str,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> HistoryHistory:
        query = gql("""
            query History($id: ID!, $first: Int, $after: String) {
              history(id: $id, first: $first, after: $after) {
                nodes {
                  validFrom
                  validTo
                  record {
                    ...RecordFields
                  }
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"id": id, "first": first, "after": after}
        response = self.execute(
            query=query, operation_name="History", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return History.model_validate(data).history

    def audit_log(
        self,
        id: str,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> AuditLogAuditLog:
        query = gql("""
            query AuditLog($id: ID!, $first: Int, $after: String) {
              auditLog(id: $id, first: $first, after: $after) {
                nodes {
                  action
                  actor
                  timestamp
                  rationale
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }
            """)
        variables: dict[str, object] = {"id": id, "first": first, "after": after}
        response = self.execute(
            query=query, operation_name="AuditLog", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return AuditLog.model_validate(data).auditLog

    def retrieve_graph(
        self, input: RetrieveGraphInput, **kwargs: Any
    ) -> RetrieveGraphRetrieveGraph:
        query = gql("""
            query RetrieveGraph($input: RetrieveGraphInput!) {
              retrieveGraph(input: $input) {
                __typename
                ... on RetrieveGraphSuccess {
                  retrievalId
                  nothingKnown
                  roots
                  nodes {
                    record {
                      ...RecordFields
                    }
                    root
                    hop
                    score
                    strength
                    duplicateCount
                    duplicateIds
                    why {
                      matchedWords
                      names
                      timedBy
                      viaId
                      words
                      vectors
                      recency
                      signals {
                        signal
                        value
                        weight
                        share
                      }
                    }
                  }
                  edges {
                    ...RelationFields
                  }
                  rendering
                  citations {
                    number
                    recordId
                  }
                  namedTimes {
                    words
                    start
                    end
                  }
                  selection {
                    chosenId
                    confidence
                    needsMore
                    askFor
                    ranked {
                      recordId
                      score
                      applicability
                      recency
                      successRate
                    }
                  }
                  limits {
                    reached
                    hubs
                    cuts {
                      limit
                      leftOut
                      because
                    }
                  }
                  freshness {
                    ...FreshnessFields
                  }
                  vectorFallback
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment FreshnessFields on Freshness {
              engine
              fallback
              mirrorLagSeconds
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="RetrieveGraph", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RetrieveGraph.model_validate(data).retrieveGraph

    def why_not(
        self, id: str, input: RetrieveGraphInput, **kwargs: Any
    ) -> WhyNotWhyNot:
        query = gql("""
            query WhyNot($id: ID!, $input: RetrieveGraphInput!) {
              whyNot(id: $id, input: $input) {
                __typename
                ... on WhyNotSuccess {
                  record {
                    ...RecordFields
                  }
                  returned
                  reasons {
                    reason
                    message
                  }
                  rank
                  score
                  candidates
                  matchedWords
                }
                ...ErrorFields
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"id": id, "input": input}
        response = self.execute(
            query=query, operation_name="WhyNot", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return WhyNot.model_validate(data).whyNot

    def report_outcome(
        self, input: ReportOutcomeInput, **kwargs: Any
    ) -> ReportOutcomeReportOutcome:
        query = gql("""
            mutation ReportOutcome($input: ReportOutcomeInput!) {
              reportOutcome(input: $input) {
                __typename
                ... on ReportOutcomeSuccess {
                  ...OutcomeFields
                }
                ...ErrorFields
              }
            }

            fragment OutcomeFields on ReportOutcomeSuccess {
              retrievalId
              outcome
              reinforcedIds
              penalizedIds
              skippedIds
              sequence
              replayed
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="ReportOutcome", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ReportOutcome.model_validate(data).reportOutcome

    def report_outcomes(
        self, input: ReportOutcomesInput, **kwargs: Any
    ) -> ReportOutcomesReportOutcomes:
        query = gql("""
            mutation ReportOutcomes($input: ReportOutcomesInput!) {
              reportOutcomes(input: $input) {
                __typename
                ... on ReportOutcomesSuccess {
                  results {
                    ...OutcomeFields
                  }
                }
                ...ErrorFields
              }
            }

            fragment OutcomeFields on ReportOutcomeSuccess {
              retrievalId
              outcome
              reinforcedIds
              penalizedIds
              skippedIds
              sequence
              replayed
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="ReportOutcomes", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ReportOutcomes.model_validate(data).reportOutcomes

    def supersede(
        self, input: SupersedeInput, **kwargs: Any
    ) -> SupersedeSupersede:
        query = gql("""
            mutation Supersede($input: SupersedeInput!) {
              supersede(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Supersede", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Supersede.model_validate(data).supersede

    def amend(self, input: AmendInput, **kwargs: Any) -> AmendAmend:
        query = gql("""
            mutation Amend($input: AmendInput!) {
              amend(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Amend", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Amend.model_validate(data).amend

    def revise_records(
        self, input: ReviseRecordsInput, **kwargs: Any
    ) -> ReviseRecordsReviseRecords:
        query = gql("""
            mutation ReviseRecords($input: ReviseRecordsInput!) {
              reviseRecords(input: $input) {
                __typename
                ... on ReviseRecordsSuccess {
                  results {
                    ...RevisedFields
                  }
                }
                ... on VersionConflict {
                  current
                }
                ...ErrorFields
              }
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="ReviseRecords", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ReviseRecords.model_validate(data).reviseRecords

    def fork(self, input: ForkInput, **kwargs: Any) -> ForkFork:
        query = gql("""
            mutation Fork($input: ForkInput!) {
              fork(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Fork", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Fork.model_validate(data).fork

    def supersede_record(
        self, input: SupersedeRecordInput, **kwargs: Any
    ) -> SupersedeRecordSupersedeRecord:
        query = gql("""
            mutation SupersedeRecord($input: SupersedeRecordInput!) {
              supersedeRecord(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="SupersedeRecord", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SupersedeRecord.model_validate(data).supersedeRecord

    def fork_record(
        self, input: ForkRecordInput, **kwargs: Any
    ) -> ForkRecordForkRecord:
        query = gql("""
            mutation ForkRecord($input: ForkRecordInput!) {
              forkRecord(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="ForkRecord", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ForkRecord.model_validate(data).forkRecord

    def contest(self, input: ContestInput, **kwargs: Any) -> ContestContest:
        query = gql("""
            mutation Contest($input: ContestInput!) {
              contest(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Contest", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Contest.model_validate(data).contest

    def resolve_contest(
        self, input: ResolveContestInput, **kwargs: Any
    ) -> ResolveContestResolveContest:
        query = gql("""
            mutation ResolveContest($input: ResolveContestInput!) {
              resolveContest(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="ResolveContest", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ResolveContest.model_validate(data).resolveContest

    def retract(self, input: RetractInput, **kwargs: Any) -> RetractRetract:
        query = gql("""
            mutation Retract($input: RetractInput!) {
              retract(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Retract", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Retract.model_validate(data).retract

    def merge(self, input: MergeInput, **kwargs: Any) -> MergeMerge:
        query = gql("""
            mutation Merge($input: MergeInput!) {
              merge(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Merge", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Merge.model_validate(data).merge

    def unmerge(self, input: UnmergeInput, **kwargs: Any) -> UnmergeUnmerge:
        query = gql("""
            mutation Unmerge($input: UnmergeInput!) {
              unmerge(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Unmerge", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Unmerge.model_validate(data).unmerge

    def delete_record(
        self, input: DeleteRecordInput, **kwargs: Any
    ) -> DeleteRecordDeleteRecord:
        query = gql("""
            mutation DeleteRecord($input: DeleteRecordInput!) {
              deleteRecord(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="DeleteRecord", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return DeleteRecord.model_validate(data).deleteRecord

    def reinforce(
        self, input: ReinforceInput, **kwargs: Any
    ) -> ReinforceReinforce:
        query = gql("""
            mutation Reinforce($input: ReinforceInput!) {
              reinforce(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Reinforce", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Reinforce.model_validate(data).reinforce

    def penalize(self, input: PenalizeInput, **kwargs: Any) -> PenalizePenalize:
        query = gql("""
            mutation Penalize($input: PenalizeInput!) {
              penalize(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Penalize", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Penalize.model_validate(data).penalize

    def pin(self, input: PinInput, **kwargs: Any) -> PinPin:
        query = gql("""
            mutation Pin($input: PinInput!) {
              pin(input: $input) {
                ...RevisionFields
              }
            }

            fragment RevisionFields on RevisionResult {
              __typename
              ... on RevisionSuccess {
                ...RevisedFields
              }
              ... on VersionConflict {
                current
              }
              ...ErrorFields
            }

            fragment RevisedFields on RevisionSuccess {
              record {
                ...RecordFields
              }
              records {
                ...RecordFields
              }
              edges {
                ...RelationFields
              }
              receipt {
                ...ReceiptFields
              }
              queued
              replayed
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }

            fragment ReceiptFields on CaptureReceipt {
              candidateId
              sequence
              state
              mentions {
                name
                outcome
                entityId
                candidateIds
              }
              changes {
                effect
                record {
                  id
                  name
                }
              }
              unindexedTerms
              textReading {
                state
                attempts
                nextTryAt
              }
              warnings {
                code
                message
                path
              }
            }

            fragment ErrorFields on MemoryError {
              code
              message
              path
              retryable
              retryAfter
              problems {
                code
                message
                path
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = self.execute(
            query=query, operation_name="Pin", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Pin.model_validate(data).pin

    def revision_impact(
        self, id: str, **kwargs: Any
    ) -> RevisionImpactRevisionImpact:
        query = gql("""
            query RevisionImpact($id: ID!) {
              revisionImpact(id: $id) {
                records {
                  record {
                    ...RecordFields
                  }
                  becomes
                  sourcesLeft
                }
                complete
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = self.execute(
            query=query, operation_name="RevisionImpact", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RevisionImpact.model_validate(data).revisionImpact

    def reevaluations(self, **kwargs: Any) -> list[ReevaluationsReevaluations]:
        query = gql("""
            query Reevaluations {
              reevaluations {
                recordId
                causeId
                queuedAt
                attempts
                error
              }
            }
            """)
        variables: dict[str, object] = {}
        response = self.execute(
            query=query, operation_name="Reevaluations", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Reevaluations.model_validate(data).reevaluations

    def revision_rules(self, **kwargs: Any) -> list[RevisionRulesRevisionRules]:
        query = gql("""
            query RevisionRules {
              revisionRules {
                revision
                type
                allowed
                evidence
              }
            }
            """)
        variables: dict[str, object] = {}
        response = self.execute(
            query=query, operation_name="RevisionRules", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return RevisionRules.model_validate(data).revisionRules

    def health(self, **kwargs: Any) -> HealthHealth:
        query = gql("""
            query Health {
              health {
                ok
                version
                checks {
                  name
                  ok
                  detail
                  checkedAt
                  ageSeconds
                  stale
                }
              }
            }
            """)
        variables: dict[str, object] = {}
        response = self.execute(
            query=query, operation_name="Health", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Health.model_validate(data).health

    def metrics(self, **kwargs: Any) -> MetricsMetrics:
        query = gql("""
            query Metrics {
              metrics {
                total
                active
                contested
                pinned
                auditEntries
                createdLastDay
                growthRate
                meanSalience
                meanConfidence
                salienceDistribution
                byType {
                  type
                  total
                  current
                }
                revisionRate
                contradictionRate
                retrievalUsefulness
                competenceSuccessRate
                planReuseFrequency
                mirrorLagSeconds
                queueDepths {
                  queue
                  depth
                }
                countedAt
              }
            }
            """)
        variables: dict[str, object] = {}
        response = self.execute(
            query=query, operation_name="Metrics", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return Metrics.model_validate(data).metrics

    def typed_record(
        self,
        id: str,
        asOf: Union[Optional[datetime], UnsetType] = UNSET,
        validAt: Union[Optional[datetime], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[TypedRecordRecord]:
        query = gql("""
            query TypedRecord($id: ID!, $asOf: DateTime, $validAt: DateTime) {
              record(id: $id, asOf: $asOf, validAt: $validAt) {
                ...RecordFields
                ...TypedFields
                relations {
                  ...RelationFields
                  source {
                    id
                    type
                    name
                  }
                  target {
                    id
                    type
                    name
                  }
                }
                provenance {
                  createdBy
                  sources {
                    kind
                    ref
                    timestamp
                    record {
                      id
                      type
                      name
                    }
                  }
                }
              }
            }

            fragment RecordFields on MemoryRecord {
              id
              type
              state
              version
              name
              text
              payload
              scope
              sensitivity
              tags
              salience
              confidence
              conditions
              redacted
              createdAt
              updatedAt
              occurredAt
              validFrom
              validTo
            }

            fragment TypedFields on MemoryRecord {
              typed {
                __typename
                ... on Fact {
                  subject
                  predicate
                  object
                  validity {
                    mode
                    conditions
                    start
                    end
                  }
                  evidence {
                    kind
                    ref
                    timestamp
                    hash
                  }
                  revisionPolicy
                  revision {
                    supersedes
                    supersededBy
                    status
                  }
                }
                ... on Entity {
                  canonicalName
                  primaryType
                  types
                  aliases {
                    value
                    kind
                    locale
                  }
                  identifiers {
                    namespace
                    value
                  }
                  summary
                }
                ... on Episode {
                  timeline {
                    t
                    eventKind
                    ref
                    summary
                    content
                  }
                  toolGraph {
                    id
                    tool
                    args
                    result
                    timestamp
                    dependsOn
                  }
                  environment {
                    os
                    osVersion
                    toolVersions
                    workingDirectory
                    context
                  }
                  outcome
                  outcomeReason
                  artifacts
                  toolGraphRef
                }
                ... on WorkingState {
                  threadId
                  taskState: state
                  activeConstraints {
                    type
                    key
                    value
                    required
                  }
                  nextActions
                  openQuestions
                  contextSummary
                }
                ... on Competence {
                  skillName
                  triggers {
                    signal
                    conditions
                  }
                  recipe {
                    step
                    tool
                    argsSchema
                    validation
                  }
                  requiredTools
                  failureModes
                  fallbacks
                  performance {
                    successCount
                    failureCount
                    successRate
                    avgLatencyMs
                    lastUsedAt
                  }
                  skillVersion: version
                  lesson {
                    task
                    trigger
                    mistake
                    antiPattern
                    solution
                    correctPattern
                    codeExample
                    domains
                    confidence
                    source
                    timestamp
                    verified
                    verificationAttempted
                    frequency
                    retrievals
                    helpfulRetrievals
                    lastRetrievedAt
                  }
                }
                ... on Plan {
                  planId
                  planVersion: version
                  intent
                  nodes {
                    id
                    op
                    params
                    guards
                    label
                    metrics {
                      executionCount
                      failureCount
                    }
                  }
                  edges {
                    source
                    target
                    kind
                  }
                  constraints
                  inputsSchema
                  outputsSchema
                  metrics {
                    avgLatencyMs
                    failureRate
                    executionCount
                    lastExecutedAt
                  }
                }
              }
            }

            fragment RelationFields on Relation {
              id
              predicate
              inverse
              sourceId
              targetId
              weight
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id, "asOf": asOf, "validAt": validAt}
        response = self.execute(
            query=query, operation_name="TypedRecord", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return TypedRecord.model_validate(data).record
