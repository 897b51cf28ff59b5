"""Sentences as people write them, found by short questions in the same language with other inflections and accents."""

from __future__ import annotations

import pytest

from stratagraph.store.model.analysis.languages import language_of
from stratagraph.store.model.analysis.lexemes import asked, lexemes

# Of each language: what was written, and questions of one to five words that it answers.
SENTENCES = {
    "german": [
        (
            "Die Datenbank wurde gestern um drei Uhr neu gestartet, weil die Verbindungen ausgingen.",
            "die Verbindung zur Datenbank",
        ),
        ("Wir haben die Schlüssel der Kunden aus den Protokollen gelöscht.", "Wer hat den Schlüssel gelöscht?"),
        ("Anna kümmert sich ab Montag um die Rechnungen für Zürich.", "Rechnung Zürich"),
        ("Der Fehler trat nur auf großen Bildschirmen auf.", "grosse Bildschirme"),
    ],
    "french": [
        ("Les sauvegardes échouent depuis que nous avons changé les certificats du serveur.", "sauvegarde certificat"),
        ("Marie a déplacé la réunion de l'équipe à jeudi après-midi.", "Quand est la réunion de l'équipe ?"),
        ("Le cache est vidé chaque nuit pour éviter des réponses périmées.", "réponse périmée"),
        ("Élodie préfère les fichiers en français.", "elodie fichier francais"),
    ],
    "spanish": [
        ("Los servidores de pruebas se quedaron sin memoria durante las actualizaciones.", "servidor actualización"),
        ("La canción del anuncio pertenece a otra compañía.", "canciones compañías"),
        ("Hemos cambiado las contraseñas de todos los usuarios en enero.", "contraseña usuario"),
    ],
    "italian": [
        ("Le fatture saranno pagate quando le consegne saranno finite.", "fattura consegna"),
        ("Due dischi dell'archivio mostrano errori di lettura.", "disco archivio errore"),
        ("La squadra ha deciso di eliminare le vecchie interfacce.", "vecchia interfaccia"),
    ],
    "swedish": [("Skrivaren på andra våningen skriver bara ut tomma sidor.", "sida skrivare")],
    "polish": [
        ("Serwery w Łodzi zostały wyłączone z powodu błędów sieci.", "serwery Łodzi"),
        ("Zmieniliśmy hasła wszystkich użytkowników.", "uzytkownikow"),
        ("Faktury zostaną zapłacone po zakończeniu dostaw.", "faktura dostawa"),
        ("Hasła wygasają co trzy miesiące.", "hasło wygasa"),
        ("Dwa dyski archiwum zgłaszają błędy odczytu.", "dysk odczyt"),
    ],
    "russian": [
        ("Вчера ночью серверы перестали отвечать из-за ошибок в сертификатах.", "сертификаты сервера"),
        ("Анна перенесла встречу с заказчиками на пятницу.", "встреча заказчик"),
        ("Ещё не всё готово.", "готов"),
    ],
    "turkish": [
        ("Sunucular dün gece güncellendi ve bağlantılar koptu.", "bağlantılar koptu"),
        ("İstanbul'daki müşteriler için yeni bir rapor hazırladık.", "istanbul rapor"),
    ],
    "chinese": [
        ("我们用Redis缓存用户的会话,每天晚上清空一次。", "Redis"),
        ("我们用Redis缓存用户的会话,每天晚上清空一次。", "用户 会话"),
        ("昨天部署v2.4.1之后,PostgreSQL的连接数超过了上限。", "PostgreSQL连接数"),
        ("昨天部署v2.4.1之后,PostgreSQL的连接数超过了上限。", "v2.4.1"),
        ("他把auth/session.py里的错误修好了", "auth/session.py"),
    ],
    "japanese": [
        ("昨日のデプロイでRedisのキャッシュが消えました。", "redis キャッシュ"),
        ("ログイン画面のパスワードを変更してください", "パスワード 変更"),
    ],
    "korean": [
        ("어젯밤 Kafka 서버가 응답하지 않아서 다시 시작했습니다.", "kafka 서버"),
    ],
}


@pytest.mark.parametrize(
    ("text", "question"),
    [(text, question) for sentences in SENTENCES.values() for text, question in sentences],
)
def test_a_short_question_has_each_of_its_words_in_the_sentence_that_answers_it(text: str, question: str) -> None:
    held = set(lexemes(text))
    assert [word.text for word in asked(question) if not word.is_part and not held & set(word.forms)] == []


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_a_sentence_is_told_from_those_of_other_languages(language: str) -> None:
    """No question is answered in full by a sentence of another language, however its words are stemmed."""
    others = [set(lexemes(text)) for name, sentences in SENTENCES.items() if name != language for text, _ in sentences]
    for _, question in SENTENCES[language]:
        words = asked(question)
        assert len(words) == 1 or not [held for held in others if all(held & set(word.forms) for word in words)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Piotr poprawił błędy w raportach", "polish"),
        ("Dyrektor prosi o wyjaśnienia dotyczące wydatków", "polish"),
        ("L'équipe a choisi de supprimer les anciennes interfaces", "french"),
        ("Giulia segue nuovi tirocinanti", "italian"),
        ("José and Zoë met Renée", "english"),  # names of several languages
        ("Müller invoice overdue", "english"),  # one word
        ("kafka schema registry offline", "english"),
    ],
)
def test_letters_and_endings_show_the_language_of_a_short_text(text: str, language: str) -> None:
    assert language_of({*text.lower().replace("'", " ").split()}) == language


@pytest.mark.parametrize("question", ["Netze", "serwer", "raporlar"])
def test_a_word_alone_that_shows_no_language_is_asked_for_as_it_is_spelled(question: str) -> None:
    """Its inflections may be missed, and it is never lost itself: every record has its words in that form, too."""
    (word,) = asked(question)
    for sentences in SENTENCES.values():
        for text, _ in sentences:
            assert word.forms[0] in lexemes(f"{text} {question}")


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wer hat den Schlüssel?", "german"),
        ("Combien de fichiers ?", "french"),
        ("Hoeveel servers waren er?", "dutch"),
        ("Hvornår skete det?", "danish"),
    ],
)
def test_question_words_are_no_words_to_search_for(question: str, language: str) -> None:
    first = question.split(maxsplit=1)[0].strip("¿").lower()
    assert first not in [word.text.lower() for word in asked(question)]
    assert language_of({word.strip("¿?").lower() for word in question.split()}, least=1) == language


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("李娜住在哪里？", ["李娜", "娜住", "住在"]),
        ("李娜在哪裡工作", ["李娜", "娜在", "工作"]),
        ("怎么修复缓存？", ["修复", "复缓", "缓存"]),
        ("何丽喜欢什么", ["何丽", "丽喜", "喜欢"]),
        ("どこに田中", ["に田", "田中"]),
        ("什么", ["什么"]),
    ],
)
def test_question_words_of_scripts_without_spaces_are_not_asked_for(question: str, words: list[str]) -> None:
    assert [word.text for word in asked(question) if not word.is_part] == words
