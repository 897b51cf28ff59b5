"""The queries about what the API allows, which read no records."""

from __future__ import annotations

import strawberry

from stratagraph.graphql.types.revision_rules import RevisionRule
from stratagraph.memory.revise.rules import rules


@strawberry.type(description="Queries about what the API allows.")
class RuleQueries:
    @strawberry.field(
        description="Return for each revision and each type of record whether it is possible and whether it needs"
        " evidence. The answer is the same for every caller."
    )
    def revision_rules(self) -> list[RevisionRule]:
        return [RevisionRule.of(rule) for rule in rules()]
