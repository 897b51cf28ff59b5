"""The analysis of texts: identifiers, languages and scripts; a record is found by each of its own words."""

from __future__ import annotations

import unicodedata

import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.languages import BASE, STOP_WORDS, is_function_word, language_of
from stratagraph.store.model.analysis.lexemes import analysed, asked, lexemes

WORDS = {
    "english": "deploy running caches builds the of normalizeWindow HTTPServer pb2291 v2026.47.3 pkg/auth/session.go",
    "german": "Häuser Straße nicht und gelöscht Änderungen der Fehler",
    "french": "l'été données créées avec réunion élève",
    "spanish": "canción años está bases de datos señales",
    "polish": "łódź żółty nie się zmiany błędy",
    "turkish": "ışık İstanbul değil güncellendi",
    "vietnamese": "Tiếng Việt dữ liệu",
    "russian": "ошибки серверов нет был ёлка мой",
    "greek": "σφάλματα του διακομιστή ΆΛΦΑ",
    "hebrew": "שָׁלוֹם שגיאה",
    "arabic": "الخَادِم أخطاء في كتابـــة",
    "hindi": "हिन्दी में त्रुटियाँ सर्वर",
    "tamil": "தமிழ் பிழைகள்",
    "armenian": "սխալներ սերվերի",
    "georgian": "შეცდომა სერვერი",
    "thai": "ภาษาไทยข้อผิดพลาด เซิร์ฟเวอร์",
    "chinese": "使用Redis缓存数据 错误 猫",
    "japanese": "データベースを更新する ガギグ ﾊﾟﾘ",
    "korean": "데이터베이스를 업데이트했다 오류",
    "signs": "snake_case kebab-case ann.lee@example.com 10.0.0.1:80 C:\\dir\\file.txt #123 🙂 e\u0301 ... a=b",
}
words = st.sampled_from([word for text in WORDS.values() for word in text.split()]) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)
sentences = st.lists(words, max_size=12)


def is_found(text: str, question: str) -> bool:
    """Return whether a record with the text has every word of the question."""
    held = set(lexemes(text))
    return all(held & set(word.forms) for word in asked(question) if not word.is_part)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Refactored pkg/auth", ["refactor", "=pkg/auth", "pkg", "auth"]),
        ("the cat and the hat", ["cat", "hat"]),
        ("Café CAFÉ cafe", ["cafe", "cafe", "cafe"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("running runs", ["run", "run"]),
        ("deploy, deploy! (deploy)", ["deploy", "deploy", "deploy"]),
        ("It broke in main.rs.", ["broke", "=main.rs", "main", "rs"]),
        ("getUserId", ["=getuserid", "getuserid", "get", "user", "id"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("https://x.io/a?b", ["=https://x.io/a", "=x.io", "https", "x", "io", "b"]),
        ("pkg/auth/session.go", ["=pkg/auth/session.go", "=session.go", "pkg", "auth", "session", "go"]),
        ("ERR_42", ["=err_42", "err", "42"]),
        ("pb2291", ["=pb2291", "pb2291", "pb", "2291"]),
        ("v2026.47.3", ["=v2026.47.3", "=2026.47.3", "=v2026", "=v2026.47", "=2026.47", "2026"]),
        ("**bold**", ["bold"]),
        ("... :: *", []),
        ("Redis缓存", ["redi", "缓存", "缓", "存"]),
        ("猫", ["猫"]),
        ("हिन्दी", ["हिन्दी", "हिन्द"]),
    ],
)
def test_a_text_becomes_its_stems_and_whole_identifiers(text: str, found: list[str]) -> None:
    assert lexemes(text) == found


@pytest.mark.parametrize("word", sorted(STOP_WORDS[BASE])[::10])
def test_stop_words_are_dropped_in_any_case(word: str) -> None:
    assert lexemes(f"{word} {word.upper()} {word.capitalize()}") == []


@pytest.mark.parametrize("identifier", ["pkg/auth", "user@host", "c#", "a:b", "x_y", "GH-1234", "v1", "fooBar"])
def test_an_identifier_is_a_lexeme_in_addition_to_its_words(identifier: str) -> None:
    assert "=" + identifier.casefold() in lexemes(f"see {identifier} please")


def test_a_plain_word_is_not_an_identifier() -> None:
    assert not [word for word in lexemes("Deploy the build cache") if word.startswith("=")]


def test_long_words_and_identifiers_are_left_out() -> None:
    assert lexemes("a" * 65) == []
    assert analysed(f"{'a' * 65} {'b' * 64} {'c' * 999} {'词' * 99}").too_long == 2
    assert len(lexemes("b" * 64)) == 1
    assert "=" + "a/" * 64 in lexemes("a/" * 64)
    assert not [word for word in lexemes("a/" * 64 + "b") if word.startswith("=")]


# Finding --------------------------------------------------------------------------------------------------------


@examples(60)
@given(sentences)
def test_a_record_is_found_by_any_of_its_own_words(spoken: list[str]) -> None:
    held = set(lexemes(" ".join(spoken)))
    for word in spoken:
        for one in [one for one in asked(word) if not one.is_part]:
            assert one.forms[0] in held or is_function_word(one.text)


@examples(60)
@given(sentences, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_the_normal_form_of_a_text_does_not_matter(spoken: list[str], form: str) -> None:
    text = " ".join(spoken)
    written = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert lexemes(written) == lexemes(text)
    assert asked(written) == asked(text)


@examples(60)
@given(words)
def test_folding_is_idempotent(word: str) -> None:
    assert folded(folded(word)) == folded(word)


@pytest.mark.parametrize("word", [word for text in WORDS.values() for word in text.split() if word[1:].islower()])
def test_case_and_accents_do_not_matter(word: str) -> None:
    bare = "".join(character for character in unicodedata.normalize("NFKD", word) if not _is_accent(character))
    for one in (word.upper(), word.lower(), bare):
        assert is_found(word.lower(), one)
        assert is_found(one, word.lower())


def _is_accent(character: str) -> bool:
    return unicodedata.combining(character) > 0 and "LATIN" not in unicodedata.name(character) and character < "\u0900"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("we call normalizeWindow here", "window"),
        ("we call normalizeWindow here", "normalize"),
        ("see pb2291", "pb2291"),
        ("see pb2291", "2291"),
        ("released v2026.47.3", "2026.47.3"),
        ("released 2026.47.3", "v2026.47.3"),
        ("released v2026.47.3 today", "v2026.47"),
        ("tool-1.4.2.tar.gz", "1.4.2"),
        ("write to ann.lee@example.com", "example.com"),
        ("pkg/auth/session.go:42", "session.go"),
        ("我们使用Redis缓存数据", "redis"),
        ("我们使用Redis缓存数据", "缓存"),
        ("我们使用Redis缓存数据", "数据"),
        ("我家的猫很可爱", "猫"),
        ("データベースを更新する", "データベース"),
        ("데이터베이스를 업데이트했다", "데이터베이스"),
        ("ข้อผิดพลาดของเซิร์ฟเวอร์", "เซิร์ฟเวอร์"),
        ("Die Häuser sind nicht mehr in der Stadt", "Haus"),
        ("Die Häuser sind nicht mehr in der Stadt", "Häusern"),
        ("Las canciones que más nos gustan", "canción"),
        ("Мы нашли ошибки на серверах", "ошибка сервера"),
        ("Jørgensen", "Jorgensen"),
        ("Lodz", "Łódź"),
    ],
)
def test_a_text_is_found_by_a_part_or_another_form_of_a_word(text: str, question: str) -> None:
    assert is_found(text, question)


@pytest.mark.parametrize(
    ("text", "question"),
    [("v2026.47.2", "v2026.47.3"), ("1.4.2", "1.4.3"), ("1.4", "1.4.2"), ("pb2291", "pb2292"), ("3.14", "3.15")],
)
def test_two_releases_or_numbers_share_no_word(text: str, question: str) -> None:
    held = set(lexemes(text))
    assert not any(held & set(word.forms) for word in asked(question))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wir haben gestern den Server neu gestartet, weil er nicht mehr antwortete", "german"),
        ("Le cache est vide et il faut le reconstruire", "french"),
        ("La base de datos no responde y no sabemos porque", "spanish"),
        ("Il server non risponde e la cache è vuota", "italian"),
        ("O servidor não responde mas a equipe já está em contato", "portuguese"),
        ("De server reageert niet meer omdat hij vol is", "dutch"),
        ("Servern svarar inte och vi vet inte varför", "swedish"),
        ("Palvelin ei vastaa ja se on ollut alhaalla", "finnish"),
        ("Serwer nie odpowiada i nie wiemy dlaczego", "polish"),
        ("Sunucu yanıt vermiyor ama çok önemli bir sorun değil", "turkish"),
        ("A szerver nem válaszol és nem tudjuk hogy miért", "hungarian"),
        ("Serverul nu răspunde și nu știm de ce este așa", "romanian"),
        ("Server tidak merespons dan kami tidak tahu mengapa", "indonesian"),
        ("The build was broken by a stale cache", "english"),
        ("Deploy failed", "english"),
        ("We met Maria de la Cruz in San Jose", "english"),
        ("Rolled out v2 to prod; error rate in EU up 3%", "english"),
        ("man bash", "english"),
        ("", "english"),
    ],
)
def test_the_language_of_a_text_is_told_by_its_function_words(text: str, language: str) -> None:
    assert language_of({word.lower().strip(",;.") for word in text.split()}) == language


def test_a_question_asks_for_the_english_form_and_those_of_its_language() -> None:
    (word,) = asked("wie heißen die Häuser nicht?")[1:]
    assert (word.text, word.forms) == ("Häuser", ("hauser", "haus"))


@pytest.mark.parametrize("unit", ["1.", "aB", "a.", "データ", "ก็", "a1", "é"])
def test_the_lexemes_of_a_long_run_of_signs_grow_no_faster_than_the_text(unit: str) -> None:
    assert len(lexemes(unit * 40_000)) <= 2 * len(lexemes(unit * 20_000)) + 8
