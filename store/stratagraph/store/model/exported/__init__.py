"""The form of an export: JSON Lines that hold everything a caller may read in full, at one instant.

See docs/export-format.md. `lines.py` has a class for each kind of line, `writing.py` their JSON, and `parsing.py`
reads and checks it. Writing a line that was read gives the same bytes.
"""

from stratagraph.store.model.exported.lines import (
    FORMAT,
    LINE_ENTRIES,
    LINE_VERSIONS,
    PART_BYTES,
    VERSION,
    ArtifactLine,
    ArtifactPartLine,
    ArtifactUse,
    AuditLine,
    Content,
    EndLine,
    EpisodeForm,
    FactForm,
    HeaderLine,
    LessonForm,
    LifecycleForm,
    Line,
    PastLifecycle,
    PastVersion,
    Period,
    PredicateLine,
    RecordLine,
    RecordPartLine,
    RelationLine,
    TombstoneLine,
    TrimForm,
)
from stratagraph.store.model.exported.parsing import parse_line
from stratagraph.store.model.exported.writing import line_bytes

__all__ = [
    "FORMAT",
    "LINE_ENTRIES",
    "LINE_VERSIONS",
    "PART_BYTES",
    "VERSION",
    "ArtifactLine",
    "ArtifactPartLine",
    "ArtifactUse",
    "AuditLine",
    "Content",
    "EndLine",
    "EpisodeForm",
    "FactForm",
    "HeaderLine",
    "LessonForm",
    "LifecycleForm",
    "Line",
    "PastLifecycle",
    "PastVersion",
    "Period",
    "PredicateLine",
    "RecordLine",
    "RecordPartLine",
    "RelationLine",
    "TombstoneLine",
    "TrimForm",
    "line_bytes",
    "parse_line",
]
