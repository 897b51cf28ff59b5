"""Answers to what a message asks: whatever else it says, whoever shares a name, and however a name is spelled."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import MAX_DESCRIPTOR, RetrieveRequest
from stratagraph.memory.retrieve.why_not import Absence
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.search.word_counts import WordCounter

THINGS = (
    "The ferry leaves at nine.",
    "Lotte ordered new curtains.",
    "We repainted the north shed.",
    "The staging database is restored every night at two.",
    "The wifi password of the cabin is on the fridge door.",
    "The spare key hangs behind the barometer.",
)
LOG = "2026-11-02T09:14:07Z WARN worker-7 retried upload part {n} of batch {n}77 after 503. "


async def asked(memory: Memory, question: str, **more: object) -> Retrieved:
    trust = more.pop("trust", memory.trust)
    request = RetrieveRequest(task_descriptor=question, max_hops=0, **more)  # type: ignore[arg-type]
    return await memory.retrieve.retrieve(trust, request)  # type: ignore[arg-type]


async def texts(memory: Memory, question: str, **more: object) -> list[str]:
    found = await asked(memory, question, **more)
    return [
        (node.record.text or "").partition("\n")[0] for node in found.nodes if "Episode" not in (node.record.name or "")
    ]


async def counted(memory: Memory) -> None:
    await WordCounter(memory.database).count_changes()


async def things(memory: Memory) -> None:
    for number, text in enumerate(THINGS):
        await memory.turn(text, thread=f"t{number}")


@pytest.mark.parametrize("length", [0, 3, 150])
async def test_what_surrounds_a_question_takes_nothing_from_it(memory: Memory, length: int) -> None:
    await things(memory)
    log = "".join(LOG.format(n=number) for number in range(length))
    for message in (
        f"{log}Where is the spare key?",
        f"Where is the spare key? {log}",
        f"Hello! {log}\nWhere is the spare key?",
    ):
        found = await asked(memory, message[:MAX_DESCRIPTOR])
        assert not found.nothing_known
        assert "barometer" in (found.nodes[0].record.text or "")
        assert found.nodes[0].strength > 0.9


async def test_the_named_one_comes_first_and_another_one_never_alone(memory: Memory) -> None:
    await memory.turn("Maria Silva is allergic to penicillin.", thread="a")
    for question in ("Is Maria Costa allergic to penicillin?", "what is Maria Costa allergic to"):
        assert (await asked(memory, question)).nothing_known
    await memory.turn("Maria Costa moved into room 12.", thread="b")
    for question in ("Is Maria Costa allergic to penicillin?", "what is Maria Costa allergic to"):
        found = await texts(memory, question)
        assert "Costa" in found[0]
    assert "Silva" in (await texts(memory, "Is Maria Silva allergic to penicillin?"))[0]
    assert "Silva" in (await texts(memory, "Is Maria allergic to penicillin?"))[0]


async def test_a_first_name_alone_points_to_the_one_person_who_fits(memory: Memory) -> None:
    await memory.turn("Kasia moved to Leeds in spring.", thread="a")
    await memory.turn("The ferry leaves at nine.", thread="b")
    await counted(memory)
    for name in ("Kasia Wiśniewska", "Kasha", "Kassia"):
        assert "Leeds" in (await texts(memory, f"Where did {name} move?"))[0]


@pytest.mark.parametrize("hidden", ["scope", "sensitivity"])
async def test_a_hidden_spelling_is_not_found_and_changes_nothing(memory: Memory, hidden: str) -> None:
    trust = trust_of(scopes={"project:a"}, ceiling=Sensitivity.MEDIUM)
    await memory.turn("Srinivas painted the fence green.", thread="a", scope="project:a")
    await counted(memory)
    at = memory.clock.now()
    before = await asked(memory, "Which fence did Shrinivas paint?", trust=trust)
    assert before.nodes
    more = {"scope": "project:b"} if hidden == "scope" else {"scope": "project:a", "sensitivity": Sensitivity.HYPER}
    for name in ("Shrinivas", "Shrinivasa", "Srinivaas", "Schrinivas"):
        await memory.turn(f"{name} painted the gate red.", thread="b", **more)
    await counted(memory)
    memory.clock.at = at
    after = await asked(memory, "Which fence did Shrinivas paint?", trust=trust)
    assert [(one.record.id, one.score, one.strength) for one in after.nodes] == [
        (one.record.id, one.score, one.strength) for one in before.nodes
    ]


async def test_a_question_is_no_answer_to_itself_and_a_statement_is_found_by_its_words(memory: Memory) -> None:
    await things(memory)
    question = "Which colour has the boat house?"
    for _ in range(3):
        await memory.turn(question, thread="now")
    for asking in (question, question.removesuffix("?"), question.upper()):
        assert (await asked(memory, asking)).nothing_known
    told = await memory.turn(f"The boat house was painted in the colour of rust. {question}", thread="told")
    assert told.primary.id in (await asked(memory, question)).roots
    await memory.turn("The boat house has the colour of rust.", thread="then")
    assert "user: The boat house has the colour of rust." in await texts(memory, question)
    assert f"user: {question}" not in await texts(memory, question)
    assert "barometer" in (await texts(memory, THINGS[-1]))[0]


@pytest.mark.parametrize("past", [False, True])
async def test_threads_are_left_out_with_all_that_was_said_in_them(memory: Memory, past: bool) -> None:
    await memory.turn("The spare key hangs behind the barometer.", thread="then")
    for number in range(60):
        await memory.turn(f"You asked me {number} times about the spare key.", thread="now")
    at = memory.clock.now()
    await memory.turn("The ferry leaves at nine.", thread="later")
    more: dict[str, object] = {"as_of": at} if past else {}
    assert any("asked" in text for text in await texts(memory, "where is the spare key", **more))
    for threads in (("now",), ("now", "nowhere")):
        found = await texts(memory, "where is the spare key", exclude_thread_ids=threads, **more)
        assert found == ["user: The spare key hangs behind the barometer."]
    assert (await asked(memory, "where is the spare key", exclude_thread_ids=("now", "then"), **more)).nothing_known
    with pytest.raises(InvalidInput, match="at most 20"):
        await asked(memory, "where is the spare key", exclude_thread_ids=tuple(map(str, range(21))))


async def test_the_caller_cuts_by_strength(memory: Memory) -> None:
    await things(memory)
    question = "Where did we put the password of the printer?"
    found = await asked(memory, question)
    strengths = [node.strength for node in found.nodes if node.record.id in found.roots]
    assert 0 < max(strengths) < 0.7
    for least in (0.0, max(strengths), 1.0):
        cut = await asked(memory, question, min_strength=least, token_budget=500)
        assert [node.strength for node in cut.nodes] == [one for one in strengths if one >= least]
        assert cut.nothing_known is (least == 1.0)
        assert ("wifi" in (cut.rendering or "")) is (least < 1.0)
    with pytest.raises(InvalidInput, match="minStrength"):
        await asked(memory, question, min_strength=1.1)


async def test_a_role_and_a_shared_verb_are_no_content(memory: Memory) -> None:
    await memory.turn("We configured the rate limiter to 30 requests a minute", thread="a")
    await memory.turn("I like dark mode", thread="b")
    await memory.turn("Payroll runs on the 25th", thread="c")
    for question in ("what is the user's blood type", "how did we configure the flux capacitor for the delorean"):
        assert (await asked(memory, question)).nothing_known
    assert "limiter" in (await texts(memory, "how did we configure the rate limiter"))[0]


@pytest.mark.parametrize(
    ("said", "others", "question"),
    [
        ("我叫王小明，住在杭州", ["我最喜欢的水果是芒果", "下周三我要去上海开会"], "你知道我叫什么名字吗"),
        ("楼上有个小孩练小提琴，每天七点半", ["我最喜欢的水果是芒果", "我住在杭州"], "新居的哪种声音天天准点响起？"),
        ("Das Geschenk ist ein Fotobuch", ["Basti repariert das Moped"], "Welche Geschenkideen gibt es?"),
        ("Vår grannes katt heter Måns", ["Båten är grön"], "Vad åt grannkatten i går på kvällen?"),
    ],
)
async def test_the_parts_of_words_are_found(memory: Memory, said: str, others: list[str], question: str) -> None:
    for number, text in enumerate([said, *others]):
        await memory.turn(text, thread=f"t{number}")
    await counted(memory)
    assert (await texts(memory, question))[:1] == [f"user: {said}"]


async def test_why_not_says_what_cut_a_record_off(memory: Memory) -> None:
    await things(memory)
    question = "Where did we put the password of the printer?"
    key = (await memory.turn("You told me where the password is.", thread="now")).primary.id
    for more, reason in (
        ({"exclude_thread_ids": ("now",)}, Absence.THREAD),
        ({"min_strength": 0.9}, Absence.STRENGTH),
    ):
        request = RetrieveRequest(task_descriptor=question, max_hops=0, **more)
        found = await memory.retrieve.why_not(memory.trust, key, request)
        assert [one.absence for one in found.reasons] == [reason]


async def test_the_newest_of_the_rest_is_found_and_no_relation_leads_into_a_thread_that_is_left_out(
    memory: Memory,
) -> None:
    mentions = {"mentions": [{"name": "Sam Okafor"}]}
    kept = (await memory.turn("Sam Okafor moved to Oslo.", thread="then", context=mentions)).primary.id
    for number in range(30):
        await memory.turn(f"Sam Okafor called {number} times.", thread="newest", context=mentions)
    latest = await asked(memory, "what is the latest?", exclude_thread_ids=("newest",))
    assert kept in {node.record.id for node in latest.nodes[:2]}  # beside the episode of its thread
    request = RetrieveRequest(
        task_descriptor="Sam Okafor Oslo?",
        max_hops=3,
        node_limit=100,
        token_budget=4_000,
        exclude_thread_ids=("newest",),
    )
    around = await memory.retrieve.retrieve(memory.trust, request)
    assert kept in {node.record.id for node in around.nodes}
    assert "called" not in (around.rendering or "")
    assert not [node for node in around.nodes if "called" in (node.record.text or "")]


@pytest.mark.parametrize(
    "message",
    [
        "Hey Claude, where is the spare key?",
        "Hey Siri! Where is the spare key?",
        "ChatGPT: where is the spare key?",
        "Where is the spare key? Best, Hannah",
        "Where is the spare key? I'm in Berlin right now",
        "Where is the spare key? Could you answer in French? Keep it short? Pretty please?",
        "Work was long and the printer broke again. I need the spare key. It rained all day in Berlin.",
        "Work was long and the printer broke again. Please tell me where the spare key is. It rained in Berlin.",
        "The printer broke again.\nWhere does the ferry to Oslo leave? And where is the spare key?",
    ],
)
async def test_whom_a_message_speaks_to_and_what_else_it_says_hides_nothing(memory: Memory, message: str) -> None:
    await things(memory)
    await counted(memory)
    assert any("barometer" in text for text in (await texts(memory, message))[:2])


async def test_what_somebody_did_on_a_day_comes_before_whatever_else_they_did(memory: Memory) -> None:
    for day in range(1, 29):
        at = datetime(2026, 5, day, 9, tzinfo=UTC)
        await memory.turn(f"Nadia painted and talked to Nadia's sister {'again ' * day}.", thread="n", timestamp=at)
    await memory.turn("Nadia went to the dentist.", thread="d", timestamp=datetime(2026, 4, 24, 9, tzinfo=UTC))
    found = await asked(memory, "What did Nadia do on 24 April 2026?")
    events = [node for node in found.nodes if "Episode" not in (node.record.name or "")]
    assert "dentist" in (events[0].record.text or "")
    assert events[0].strength > max(node.strength for node in events[1:])
