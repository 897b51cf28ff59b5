"""Observations of procedures: the order, the batches and the ids of episodes do not matter, and episodes can leave."""

from __future__ import annotations

import json
from functools import reduce
from random import Random
from typing import Any

from fix_episodes import call, episode, episodes, renamed
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.competence.skills import skill_payload
from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.plans.plan_graphs import plan_payload, structure_of
from stratagraph.memory.learning.procedures.observation import Observation, observe
from stratagraph.memory.learning.procedures.reported import NOTHING, reported_of_plan, reported_of_skill
from stratagraph.store.model.payloads.competence import CompetencePayload
from stratagraph.store.model.payloads.plan_graph import PlanGraphPayload


def of(one: Episode) -> Observation:
    found = observe(one)
    assert found is not None
    return found


def together(parts: list[Observation]) -> Observation:
    return reduce(Observation.merged, parts)


@given(episodes(), st.randoms(use_true_random=False))
def test_order_and_batches_do_not_matter(found: list[Episode], random: Random) -> None:
    whole = together([of(one) for one in found])
    shuffled = [of(one) for one in found]
    random.shuffle(shuffled)
    while len(shuffled) > 1:  # merged in any grouping, and stored in between
        one, other = shuffled.pop(random.randrange(len(shuffled))), shuffled.pop(random.randrange(len(shuffled)))
        stored = json.loads(json.dumps(one.merged(other).as_json()))
        shuffled.append(Observation.of_json(stored))
    assert shuffled[0] == whole


@given(episodes())
def test_ids_do_not_matter(found: list[Episode]) -> None:
    def payloads(of_them: list[Episode]) -> list[dict[str, Any]]:
        whole = together([of(one) for one in of_them])
        return [skill_payload(whole, {}, NOTHING), plan_payload(whole, {}, NOTHING)]

    assert payloads([renamed(one, "other") for one in found]) == payloads(found)


@given(episodes())
def test_payloads_are_valid_and_count_every_episode(found: list[Episode]) -> None:
    whole = together([of(one) for one in found])
    skill, plan = skill_payload(whole, {}, NOTHING), plan_payload(whole, {}, NOTHING)
    CompetencePayload.model_validate(skill)
    PlanGraphPayload.model_validate(plan | {"version": "1"})
    outcomes = [one.outcome for one in found]
    assert skill["performance"]["success_count"] == outcomes.count("success")
    assert skill["performance"]["failure_count"] == outcomes.count("failure")
    assert plan["metrics"]["execution_count"] == len(found)
    assert reported_of_skill(skill, whole).successes == reported_of_skill(skill, whole).failures == 0
    assert reported_of_plan(plan, whole).others == reported_of_plan(plan, whole).failures == 0


@given(episodes())
def test_a_plan_has_an_intent_only_if_all_its_episodes_had_one_task(found: list[Episode]) -> None:
    whole = together([of(one) for one in found])
    tasks = {one.text for one in whole.tasks}
    intent = plan_payload(whole, {}, NOTHING).get("intent")
    assert (intent is not None) == (len(tasks) == 1)
    assert intent is None or next(iter(tasks)).startswith(intent)


@given(episodes(most=4))
def test_an_episode_leaves_nothing_of_its_own_behind(found: list[Episode]) -> None:
    secret = episode(
        "secret",
        "the canary sings",
        *(call(one.tool, {"canary": f"canary{n}"}, {"canary": "canary"}) for n, one in enumerate(found[0].calls)),
        call(found[0].calls[0].tool, {}, "canary failure", failed=True),
        minute=99,
        environment={"canary": "canary"},
    )
    kept = together([of(one) for one in found])
    both = kept.merged(of(secret))
    assert "canary" in json.dumps(both.as_json())
    left = both.forgetting({str(secret.id)})
    for made in (left.as_json(), skill_payload(left, {}, NOTHING), plan_payload(left, {}, NOTHING)):
        assert "canary" not in json.dumps(made)
        assert str(secret.id) not in json.dumps(made)
    assert left.tasks == kept.tasks
    assert left.structures == kept.structures or len(both.structures) > len(kept.structures) or both.structures[0].by


def test_a_diverging_episode_makes_a_branch_and_another_structure() -> None:
    short = episode("short", "go", call("look"), call("change", after=[0]), call("tell", after=[1]))
    again = episode(
        "again",
        "go",
        call("look"),
        call("change", after=[0]),
        call("look", after=[1]),
        call("tell", after=[2]),
        minute=1,
    )
    one = plan_payload(of(short), {}, NOTHING)
    both = plan_payload(of(short).merged(of(again)), {}, NOTHING)
    assert structure_of(one) != structure_of(both)
    assert {node["id"]: node["share"] for node in both["nodes"]}["look#2"] == 0.5
    assert both["branches"] == [{"after": "change", "to": [{"step": "look#2", "share": 0.5}]}]


def test_the_critical_path_is_the_slowest_and_not_the_longest() -> None:
    slow = call("slow", {}, "", after=[0], latency_ms=900.0)
    quick = [
        call("start", {}, "", latency_ms=5.0),
        slow,
        call("quick", {}, "", after=[0], latency_ms=1.0),
        call("quicker", {}, "", after=[2], latency_ms=1.0),
    ]
    payload = plan_payload(of(episode("one", "go", *quick)), {}, NOTHING)
    assert payload["critical_path"] == {"steps": ["start", "slow"], "expected_latency_ms": 905.0}


def test_arguments_say_where_they_come_from_and_which_values_they_have() -> None:
    def booking(number: int, cabin: str) -> Episode:
        return episode(
            f"booking {number}",
            f"I am user_{number}, book me a seat",
            call("find_user", {"user": f"user_{number}"}, {"card": f"card-{number}"}),
            call("book", {"card": f"card-{number}", "cabin": cabin, "currency": "EUR", "note": f"note {number}"}),
            minute=number,
        )

    cabins = ["economy", "business"] * 4
    whole = together([of(booking(number, cabin)) for number, cabin in enumerate(cabins)])
    find, book = skill_payload(whole, {}, NOTHING)["recipe"]
    assert find["args_schema"]["properties"]["user"] == {"type": "string", "source": "said"}
    properties = book["args_schema"]["properties"]
    assert properties["card"] == {"type": "string", "source": "find_user: card"}
    assert properties["cabin"] == {"type": "string", "enum": ["business", "economy"]}
    assert properties["currency"] == {"type": "string", "const": "EUR"}
    assert properties["note"] == {"type": "string"}
    assert book["args_schema"]["required"] == ["cabin", "card", "currency", "note"]


def test_what_helped_against_a_failure_is_a_fallback() -> None:
    one = episode(
        "one",
        "pay",
        call("pay", {"amount": 5, "card": "old"}, "Error: card 1234 declined", failed=True),
        call("pay", {"amount": 5, "card": "new"}, "done"),
    )
    skill = skill_payload(of(one), {}, NOTHING)
    assert skill["failure_modes"] == ["pay: Error: card * declined"]
    assert skill["fallbacks"] == ["if pay fails with “Error: card * declined”, call it again with another card"]
    assert skill["triggers"][1]["signal"] == skill["failure_modes"][0]


@given(episodes())
def test_arguments_have_the_names_that_the_calls_had(found: list[Episode]) -> None:
    skill = skill_payload(together([of(one) for one in found]), {}, NOTHING)
    for step in skill["recipe"]:
        given_ = [{*done.args} for one in found for done in one.calls if done.tool == step["tool"]]
        schema = step["args_schema"]
        assert schema["properties"].keys() == set.union(*given_)
        assert {*schema.get("required", ())} <= set.intersection(*given_)
