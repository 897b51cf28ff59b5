"""The measures of memory as Prometheus series, over all tenants: of which no label names one."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from stratagraph.memory.records.measures import Measured
from stratagraph.store.records.census import Census, Counts

_FIFTHS = ("0.2", "0.4", "0.6", "0.8", "1")  # upper bounds of salience


def memory_metrics(census: Census) -> Iterator[Metric]:
    """Return what the last round of the census counted; nothing before the first."""
    if census.counted_at is None:
        return
    total = Counts.total(census.by_type.values())
    records = GaugeMetricFamily("stratagraph_records", "Records by type and state.", labels=["type", "state"])
    for type_, counts in sorted(census.by_type.items()):
        records.add_metric([type_.label, "active"], counts.active)
        records.add_metric([type_.label, "contested"], counts.contested)
        records.add_metric([type_.label, "past"], counts.records - counts.current)
    yield records
    salience = GaugeMetricFamily(
        "stratagraph_salience_records", "Current records by salience, in fifths, up to the bound.", labels=["up_to"]
    )
    for bound, count in zip(_FIFTHS, total.fifths, strict=True):
        salience.add_metric([bound], count)
    yield salience
    of_all = Measured(
        counted_at=census.counted_at,
        total=total,
        by_type=census.by_type,
        usefulness=None,
        queues=None,
        mirror_lag_s=None,
    )
    for name, help_text, value in (
        ("pinned_records", "Current records that are pinned.", total.pinned),
        ("records_created_last_day", "Records created in the last 24 hours.", total.created_lately),
        ("audit_entries", "Audit entries of the records.", total.audit_entries),
        ("mean_salience", "Mean salience of the current records.", of_all.mean_salience),
        ("mean_confidence", "Mean confidence of the current records.", of_all.mean_confidence),
        ("memory_growth_rate", "Records of the last 24 hours by those from before.", of_all.growth_rate),
        (
            "competence_success_rate",
            "Share of executions that succeeded.",
            of_all.competence_success_rate,
        ),
        ("plan_reuse_frequency", "Mean number of executions of a plan.", of_all.plan_reuse_frequency),
        ("contradiction_rate", "Share of the current records that are contested.", of_all.contradiction_rate),
        ("revision_rate", "Share of the records that were revised or superseded.", of_all.revision_rate),
        ("census_timestamp_seconds", "The instant as of which these were counted.", census.counted_at.timestamp()),
    ):
        if value is not None:
            yield GaugeMetricFamily(f"stratagraph_{name}", help_text, value=value)
