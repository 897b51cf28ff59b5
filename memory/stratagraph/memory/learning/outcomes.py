"""The stages that learn nothing from an episode without an outcome: one that comes late lets them read it again."""

NEED_OUTCOME = frozenset({"structural-facts", "competence", "plans"})  # names of stages
