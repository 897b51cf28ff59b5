"""Times in questions of nine languages, as people write them, mean the day, the week or the year that they should."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.question import asks_only_when
from stratagraph.memory.retrieve.time_languages import in_english
from stratagraph.memory.retrieve.time_names import TABLES
from stratagraph.memory.retrieve.times import EARLIEST, time_words
from stratagraph.store.model.analysis.lexemes import asked

NOW = datetime(2026, 5, 7, 15, 30, 20, tzinfo=UTC)  # a Thursday
DAY, WEEK = timedelta(days=1), timedelta(weeks=1)

# An expression, and the first and the last day that it means; the last is left out where it is the first.
EXPRESSIONS = [
    ("what did I tell you on 24.01.2024?", "2024-01-24", ""),
    ("what did I say on 29 Dec 2023", "2023-12-29", ""),
    ("On May 4th, I consulted a doctor", "2026-05-04", ""),
    ("what did I do on 17/03?", "2026-03-17", ""),
    ("the meeting of 06.03.2025", "2025-03-06", ""),
    ("on Friday, 23 May 2025", "2025-05-23", ""),
    ("on the 5th, what did I buy?", "2026-05-05", ""),
    ("what did I eat from 3 to 5 May?", "2026-05-03", "2026-05-05"),
    ("what happened on May 3-5, 2026", "2026-05-03", "2026-05-05"),
    ("what did I do on Friday last week", "2026-05-01", ""),
    ("what did I do 3 days ago", "2026-05-04", ""),
    ("who called last Friday?", "2026-05-01", ""),
    ("what did I read in March 2025", "2025-03-01", "2025-03-31"),
    ("where did Tor Holt work in 2022?", "2022-01-01", "2022-12-31"),
    ("where did he work from 2021 to 2023?", "2021-01-01", "2023-12-31"),
    ("where did he work between 2021 and 2023?", "2021-01-01", "2023-12-31"),
    ("what did I plan for Thursday 24 April?", "2025-04-24", ""),
    ("who called on the last Friday of September?", "2025-09-26", ""),
    ("what did we do on the first Sunday of March 2026", "2026-03-01", ""),
    ("Was war am Donnerstag, dem 24. April?", "2025-04-24", ""),
    ("where did she live in summer 2023?", "2023-06-01", "2023-08-31"),
    ("where did I go last winter?", "2025-12-01", "2026-02-28"),
    ("Was habe ich am 23. Mai gesagt?", "2025-05-23", ""),
    ("Was war am Freitag, 23. Mai 2025?", "2025-05-23", ""),
    ("Was habe ich am 17.03. gekauft?", "2026-03-17", ""),
    ("Was haben wir gestern besprochen?", "2026-05-06", ""),
    ("Wen habe ich vorgestern getroffen?", "2026-05-05", ""),
    ("Was habe ich letzte Woche gelesen?", "2026-04-27", "2026-05-03"),
    ("Was habe ich vor drei Tagen gekocht?", "2026-05-04", ""),
    ("Wo war ich am Montag?", "2026-05-04", ""),
    ("Was war letzten Freitag?", "2026-05-01", ""),
    ("Was geschah im März 2025?", "2025-03-01", "2025-03-31"),
    ("Wo arbeitete Tor im Jahr 2022?", "2022-01-01", "2022-12-31"),
    ("Wo hat Tor Holt 2022 gearbeitet?", "2022-01-01", "2022-12-31"),
    ("Was ist 1999 hier passiert?", "1999-01-01", "1999-12-31"),
    ("Waar heeft Tor Holt 2022 gewerkt?", "2022-01-01", "2022-12-31"),
    ("Vad gjorde vi 2022 i Lissabon?", "2022-01-01", "2022-12-31"),
    ("Wen traf ich letztes Jahr?", "2025-01-01", "2025-12-31"),
    ("Was war vom 3. bis 5. Mai?", "2026-05-03", "2026-05-05"),
    ("Qu'est-ce que j'ai fait le 3 mars 2025 ?", "2025-03-03", ""),
    ("Où étais-je le 1er mai ?", "2026-05-01", ""),
    ("Qui ai-je vu hier ?", "2026-05-06", ""),
    ("Qu'ai-je lu avant-hier ?", "2026-05-05", ""),
    ("Qu'ai-je fait la semaine dernière ?", "2026-04-27", "2026-05-03"),
    ("Qui ai-je appelé il y a trois jours ?", "2026-05-04", ""),
    ("Que s'est-il passé vendredi dernier ?", "2026-05-01", ""),
    ("Où travaillait Tor en 2022 ?", "2022-01-01", "2022-12-31"),
    ("Qu'ai-je fait en février ?", "2026-02-01", "2026-02-28"),
    ("Qu'ai-je acheté le vendredi 23 mai 2025 ?", "2025-05-23", ""),
    ("¿Qué hice el 4 de mayo?", "2026-05-04", ""),
    ("¿Qué dije el 24 de enero de 2024?", "2024-01-24", ""),
    ("¿Qué compré ayer?", "2026-05-06", ""),
    ("¿A quién vi anteayer?", "2026-05-05", ""),
    ("¿Qué hice la semana pasada?", "2026-04-27", "2026-05-03"),
    ("¿Qué comí hace tres días?", "2026-05-04", ""),
    ("¿Dónde estuve el viernes pasado?", "2026-05-01", ""),
    ("¿Dónde trabajaba Tor en 2022?", "2022-01-01", "2022-12-31"),
    ("¿Qué pasó en marzo de 2025?", "2025-03-01", "2025-03-31"),
    ("Cosa ho fatto il 4 maggio?", "2026-05-04", ""),
    ("Che cosa ho detto il 24 gennaio 2024?", "2024-01-24", ""),
    ("Chi ho visto ieri?", "2026-05-06", ""),
    ("Che cosa ho letto la settimana scorsa?", "2026-04-27", "2026-05-03"),
    ("Che cosa ho mangiato tre giorni fa?", "2026-05-04", ""),
    ("Dove ero venerdì scorso?", "2026-05-01", ""),
    ("Dove lavorava Tor nel 2022?", "2022-01-01", "2022-12-31"),
    ("O que fiz em 4 de maio?", "2026-05-04", ""),
    ("O que eu disse em 24 de janeiro de 2024?", "2024-01-24", ""),
    ("Quem eu vi ontem?", "2026-05-06", ""),
    ("O que eu li na semana passada?", "2026-04-27", "2026-05-03"),
    ("O que comi há três dias?", "2026-05-04", ""),
    ("Onde estive na sexta-feira passada?", "2026-05-01", ""),
    ("Onde o Tor trabalhava em 2022?", "2022-01-01", "2022-12-31"),
    ("Wat heb ik op 4 mei gezegd?", "2026-05-04", ""),
    ("Wat zei ik op 24 januari 2024?", "2024-01-24", ""),
    ("Wie zag ik gisteren?", "2026-05-06", ""),
    ("Wat las ik vorige week?", "2026-04-27", "2026-05-03"),
    ("Wat at ik drie dagen geleden?", "2026-05-04", ""),
    ("Waar was ik afgelopen vrijdag?", "2026-05-01", ""),
    ("Waar werkte Tor in 2022?", "2022-01-01", "2022-12-31"),
    ("我九月十七号做了什么？", "2025-09-17", ""),
    ("10月4号我去了哪里？", "2025-10-04", ""),
    ("我2024年1月24日说了什么？", "2024-01-24", ""),
    ("我昨天做了什么？", "2026-05-06", ""),
    ("前天我见了谁？", "2026-05-05", ""),
    ("上周我读了什么书？", "2026-04-27", "2026-05-03"),
    ("三天前我吃了什么？", "2026-05-04", ""),
    ("上周五我去了哪里？", "2026-05-01", ""),
    ("他2022年在哪里工作？", "2022-01-01", "2022-12-31"),
    ("去年我去了哪里？", "2025-01-01", "2025-12-31"),
    ("что я делал вчера?", "2026-05-06", ""),
    ("что было 3 мая 2025 г.?", "2025-05-03", ""),
    ("co robiłem 24 stycznia 2024 roku?", "2024-01-24", ""),
    ("昨日何をしましたか？", "2026-05-06", ""),
]


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("text", "first", "last"), EXPRESSIONS, ids=[text for text, _, _ in EXPRESSIONS])
def test_a_time_in_a_question_means_its_days(text: str, first: str, last: str) -> None:
    (found,) = time_words(text, NOW).times
    assert (found.start, found.end) == (day(first), day(last or first) + DAY)


@pytest.mark.parametrize("text", ["on 12/10/2024", "what did I buy on 12-10-2024?", "am 12/10/2024"])
def test_a_date_with_two_readings_is_both(text: str) -> None:
    assert {one.start for one in time_words(text, NOW).times} == {day("2024-10-12"), day("2024-12-10")}


@pytest.mark.parametrize(
    "text",
    [
        "what did Rosa repair this past week",
        "what did Rosa repair in the past week",
        "what did Rosa repair over the last week?",
        "what did Rosa repair during the last 7 days",
        "was hat Rosa in den letzten sieben Tagen repariert?",
        "qu'a réparé Rosa au cours des sept derniers jours ?",
        "¿qué reparó Rosa en los últimos siete días?",
        "Rosa过去七天修了什么？",
    ],
)
def test_the_past_week_is_the_last_seven_days(text: str) -> None:
    (found,) = time_words(text, NOW).times
    assert (found.start, found.end) == (NOW - WEEK, NOW)


def test_a_fortnight_ago_is_two_weeks_ago() -> None:
    fortnight, weeks = (time_words(text, NOW).times[0] for text in ("a fortnight ago", "two weeks ago"))
    assert (fortnight.start, fortnight.end) == (weeks.start, weeks.end)


@pytest.mark.parametrize("text", ["in the last fortnight", "over the past fortnight", "last fortnight"])
def test_the_last_fortnight_is_the_last_fourteen_days(text: str) -> None:
    (found,) = time_words(text, NOW).times
    assert (found.start, found.end) == (NOW - 2 * WEEK, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "what do I do on Fridays?",
        "who comes every Friday",
        "was mache ich freitags?",
        "que fait-il tous les vendredis ?",
        "¿qué hago los viernes?",
        "每周五我做什么？",
    ],
)
def test_a_recurring_day_is_each_of_the_latest(text: str) -> None:
    times = time_words(text, NOW)
    fridays = [day("2026-05-01") - WEEK * back for back in range(26)]
    assert [one.start for one in times.times] == fridays
    assert [times.fit(friday + DAY / 2) for friday in fridays] == [1.0] * 26
    assert times.fit(fridays[0] + 1.5 * DAY) < 1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("was habe ich vor dem 3. Mai 2025 gesagt?", "2025-05-03"),
        ("qu'ai-je dit avant le 3 mai 2025 ?", "2025-05-03"),
        ("¿qué dije antes del 3 de mayo de 2025?", "2025-05-03"),
    ],
)
def test_a_word_before_a_time_makes_it_a_bound(text: str, end: str) -> None:
    (found,) = time_words(text, NOW).times
    assert (found.start, found.end) == (EARLIEST, day(end))


@pytest.mark.parametrize(
    "text",
    [
        "Was ist hier passiert?",
        "3 out of 5 tests passed",
        "7 set points were lost",
        "the 24/7 service and the 16/9 screen",
        "the fix of 3.10.12 in 24.04.02",
        "10/12 tests pass",
        "Ma said that the dag has mars in it",
        "he may mark the second page of segunda",
        "三个月的计划",
        "Wer ist heute in Zimmer 2022 und hat 2000 Euro?",
        "Wir haben 2000 Schritte und 2010 Zeilen mit dem Fehler 2024",
        "guten Morgen, was gibt es heute",  # today only
    ],
)
def test_words_of_another_meaning_name_no_time(text: str) -> None:
    assert [one.words for one in time_words(text, NOW).times if one.words != "heute"] == []


@pytest.mark.parametrize("language", sorted(TABLES))
def test_each_language_has_its_months_days_and_units(language: str) -> None:
    headings = {line.partition(" ")[0] for line in TABLES[language].splitlines()}
    assert {"months", "days", "units"} <= headings


@pytest.mark.parametrize(
    "text",
    [
        "What happened yesterday?",
        "Was ist gestern passiert?",
        "Que s'est-il passé hier ?",
        "¿Qué pasó ayer?",
        "Cosa è successo ieri?",
        "O que aconteceu ontem?",
        "Wat is er gisteren gebeurd?",
        "昨天发生了什么？",
        "我昨天做了什么？",
    ],
)
def test_a_question_may_ask_for_a_time_and_nothing_else(text: str) -> None:
    assert asks_only_when(asked(text), dated=time_words(text, NOW).words)


@given(st.text(max_size=200) | st.lists(st.sampled_from([text for text, _, _ in EXPRESSIONS])).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    for one in time_words(text, NOW).times:
        assert one.words in text or one.words in text.lower()
        assert one.start < one.end
    for start, end, _ in in_english(text.lower()):
        assert 0 <= start < end <= len(text.lower())
