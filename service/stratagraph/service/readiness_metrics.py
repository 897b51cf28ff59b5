"""Whether a process can answer requests, and what its database can do, as Prometheus series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from stratagraph.store.postgres.probing import DatabaseState, Probe


def ready(*, is_ready: bool) -> Metric:
    """Return whether this process can answer requests."""
    return GaugeMetricFamily("stratagraph_ready", "1 if the process can answer requests, 0 if not.", value=is_ready)


def up(answers: Mapping[str, bool]) -> Metric:
    """Return whether each part answers."""
    family = GaugeMetricFamily("stratagraph_up", "1 if the part answers, 0 if not.", labels=["part"])
    for name, does in answers.items():
        family.add_metric([name], does)
    return family


def database_metrics(probe: Probe | None) -> Iterator[Metric]:
    """Return the state of the database and the difference of the clocks; None is a database that does not answer."""
    states = GaugeMetricFamily("stratagraph_database_state", "1 for the state of the database.", labels=["state"])
    state = probe.state if probe is not None else DatabaseState.UNREACHABLE
    for one in DatabaseState:
        states.add_metric([one.value], one is state)
    yield states
    if probe is not None and probe.clock_ahead_s is not None:
        yield GaugeMetricFamily(
            "stratagraph_clock_ahead_seconds",
            "By how much this machine's clock is ahead of the database's.",
            value=probe.clock_ahead_s,
        )


def waiting_metrics() -> bytes:
    """Return the metrics of a process that waits for its database, in the text format."""
    registry = CollectorRegistry()
    registry.register(_Waiting())
    return generate_latest(registry)


class _Waiting(Collector):
    def collect(self) -> Iterator[Metric]:
        yield ready(is_ready=False)
        yield up({"database": False})
        yield from database_metrics(None)
