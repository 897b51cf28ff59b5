"""Times as people write them in other languages than English, put into English for `time_grammar`. Pure.

`time_names` has the names and the expressions of each. Accents do not matter.

dateparser 1.5 was measured on the 89 expressions of `tests/unit/memory/test_time_languages.py`, given their languages:
its `search_dates` reads 59 of them as one date that is right, in 1.8 ms each, and this all of them in 0.1 ms. The list
was the example for this grammar, so only the difference of cost is a fair figure; what dateparser lacks are intervals,
both readings of 12/10/2024, recurring days, "the past week" and Chinese numerals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from stratagraph.memory.retrieve.time_names import TABLES
from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.languages import BASE, STOP_WORDS, language_of

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_UNITS = "minute hour day week month year".split()  # noqa: SIM905
_HEADINGS = ("months", "days", "units", "numbers", "before", "since", "after")

_CJK = {"chinese": re.compile("[㐀-鿿]"), "japanese": re.compile("[぀-ヿ㐀-鿿]"), "korean": re.compile("[가-힣]")}
_FIGURES = {figure: value for value, figure in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_HAN = "[〇零一二两兩三四五六七八九十廿]"
_HOLE = re.compile(r"\{\w+\}")
_OF = r"(?:,? ?(?:de l['’]annee |de |del |di |do |of |d['’]|\.) ?)?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?P<y>(?:19|20)\d\d)(?:年|년| г\.?| года| roku| m\.)?"
# Languages in which a year needs no word before it: "2022 war ich in Rom". What makes of it another number.
_BARE_YEARS = frozenset(("german", "dutch", "swedish", "danish", "norwegian", "finnish", "estonian"))
_COUNTED = (
    r"[%€$£°]|(?:euro?|chf|kr|kronor|kroner|usd|dollar|prozent|procent|kg|gr?|km|mm?|cm|ml?|liter|meter|watt|kcal|mal"
    r"|stück|stueck|schritte?|stappen|steg|zeilen|regels|leute|menschen|mensen|personen|einwohner|uhr|punkte|seiten"
    r"|dateien|zeichen|mb|gb|kb|ms|px|tonnen|stunden|tage|minuten|sekunden|jahre|wochen|monate)\b"
)
_NUMBERED = (
    "nr ",
    "nr. ",
    "nummer ",
    "version ",
    "zimmer ",
    "seite ",
    "code ",
    "fehler ",
    "port ",
    "raum ",
    "zeile ",
    "error ",
)
_BARE_YEAR = re.compile(
    "".join(f"(?<!{re.escape(word)})" for word in _NUMBERED)
    + rf"(?<![\w.,:/#-])(?:jaar |anno |år )?(?P<y>(?:19|20)\d\d)(?! ?(?:{_COUNTED}))(?![\w-]|[.,:/]\d)"
)
_SHORT = 3  # characters of a month that may be another word
_ENDS = r"(?![^\W_]|-\d)"
_WORDS = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Language:
    """The expressions of a language, each with what it is in English, and the words after which a time is a bound.

    `english` has the meaning of each number, unit, day and month, by the name of its hole.
    """

    expressions: Sequence[tuple[re.Pattern[str], str]]
    bounds: list[tuple[re.Pattern[str], str]]
    english: Mapping[str, Mapping[str, str]]


def in_english(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where a text in lower case names a time in another language than English, and what that is in English.

    Of those that overlap, such as a date that two languages write alike, the longest is meant.

    >>> list(in_english("was war vor drei tagen?"))
    [(8, 22, '3 days ago')]
    """
    plain = _plain(text)
    for name, is_its_own in _languages_of(plain):
        language, rest = _language(name), plain
        for pattern, template in language.expressions:
            for match in pattern.finditer(rest):
                if not is_its_own and not _is_clear(match):
                    continue
                start, end = match.span()
                # Words that an earlier expression has read are blanked out, so that their parts are not read again.
                rest = rest[:start] + "\0" * (end - start) + rest[end:]
                bound = ""
                for before, word in language.bounds:
                    if found := before.search(plain, max(0, start - 16), start):
                        bound, start = f"{word} ", found.start()
                        break
                yield start, end, bound + _put(template, match, language.english)


def _is_clear(match: re.Match[str]) -> bool:
    """Return whether an expression can be of no other language: it has several words, and is not like "3 out of 5"."""
    found = match.groupdict(default="")
    month = next((text for name, text in found.items() if name.startswith("month")), "")
    return " " in match[0] and (not 0 < len(month) <= _SHORT or bool(found.get("y")))


def _languages_of(plain: str) -> Iterator[tuple[str, bool]]:
    """Yield the languages of which a text has a word of time, and whether it may be written in it.

    "Hier" is yesterday in French and here in German: a word alone is read only in the language that the others show.
    """
    yield from ((name, True) for name, script in _CJK.items() if script.search(plain))
    words = {*_WORDS.findall(plain)}
    known = {name for word in words for name in _words_of_time().get(word, ())}
    years = _BARE_YEARS & {language_of(words)} if _BARE_YEAR.search(plain) else frozenset()
    known |= years
    if known:
        own = language_of(words)
        english = words & STOP_WORDS[BASE]
        for name in TABLES:
            if name in known:
                is_unknown = own == BASE and not english - STOP_WORDS.get(name, frozenset())
                yield name, own == name or is_unknown or not next(iter(_names(name)["days"])).isascii()


@cache
def _words_of_time() -> dict[str, list[str]]:
    """Return the words that show that a text may name a time, with the languages of each."""
    found: dict[str, list[str]] = {}
    for name in TABLES.keys() - _CJK.keys():
        for heading in ("months", "days", "units", "simple"):
            for word in _names(name)[heading]:
                parts = _WORDS.findall(word)
                parts += [f"{word}{ending}" for ending in ("s", "en") if heading == "days"]  # "freitags", "les lundis"
                for part in parts:
                    if len(part) > 2:
                        found.setdefault(part, []).append(name)
    return found


@cache
def _names(name: str) -> dict[str, dict[str, str]]:
    """Return the names of a language by heading, each with its English; "simple" are its fixed expressions."""
    found: dict[str, dict[str, str]] = {"simple": {}}
    english = {"months": _MONTHS, "days": _DAYS, "units": _UNITS, "numbers": [str(n) for n in range(1, 13)]}
    for line in _lines(name):
        heading, _, rest = line.partition(" ")
        if heading in _HEADINGS:
            groups = rest.split()
            meanings = english.get(heading, [heading])
            found[heading] = {
                form.replace("_", " "): meaning
                for group, meaning in zip(groups, meanings, strict=True)
                for form in group.split("|")
            }
        elif "{" not in line:
            found["simple"] |= dict.fromkeys(re.sub(r"\(\?.*?\)", "", line.partition(": ")[2]).split("|"), "")
    return found


def _lines(name: str) -> list[str]:
    return _plain(TABLES[name].strip().replace("\n  ", " ")).splitlines()


@cache
def _language(name: str) -> _Language:
    names = _names(name)
    number = "|".join([r"\d{1,3}", *sorted(names.get("numbers", ()), key=len, reverse=True)])
    if name in _CJK:
        number = rf"\d{{1,3}}|{_HAN}{{1,3}}"
    holes = {
        "{n}": f"(?P<n>{number})",
        "{u}": f"(?P<u>{_any(names['units'])})",
        "{day}": f"(?P<day>{_any(names['days'])})",
        "{month}": f"(?P<month>{_any(names['months'])})",
        "{y}": "(?P<y>(?:19|20)[0-9]{2})",
    }
    # Scripts without spaces have no ends of words.
    start, end = (r"(?<![\d])", r"") if name in _CJK else (r"(?<![\w.-])", r"(?![\w-])")
    expressions = _dates(name, holes)
    for line in _lines(name):
        english, is_expression, pattern = line.partition(": ")
        if not is_expression or line.partition(" ")[0] in _HEADINGS:
            continue
        # A hole may occur in several branches of a pattern, and a group of one name cannot: each has its place.
        whole = _HOLE.sub(lambda hole: holes[hole[0]].replace(">", f"{hole.start()}>", 1), pattern)
        expressions.append((re.compile(f"{start}(?:{whole}){end}"), english))
    if name in _BARE_YEARS:
        expressions.append((_BARE_YEAR, "in {y}"))
    bounds: list[tuple[re.Pattern[str], str]] = [
        (re.compile(rf"(?<!\w)(?:{_any(names[heading])}) ?(?:den |dem |el |le |o |il |het )?$"), heading)
        for heading in ("before", "since", "after")
        if heading in names
    ]
    holes_of = {"n": "numbers", "u": "units", "day": "days", "month": "months"}
    return _Language(
        expressions=expressions,
        bounds=bounds,
        english={hole: names.get(heading, {}) for hole, heading in holes_of.items()},
    )


def _dates(name: str, holes: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    """Return the forms of dates with the name of a month, or its sign."""
    if name in _CJK:
        year, month, day = "[年년] ?", "[月월] ?", "[日号號일]"
        figures = rf"(?:\d{{1,2}}|{_HAN}{{1,3}})"
        long_year = r"(?P<y>(?:19|20)\d\d|[一二][〇零一二三四五六七八九]{3})"
        return [
            (re.compile(rf"(?<!\d){long_year} ?{year}(?P<m>{figures}) ?{month}(?P<d>{figures}) ?{day}"), "{y}-{m}-{d}"),
            (re.compile(rf"(?<!\d)(?P<m>{figures}) ?{month}(?P<d>{figures}) ?{day}"), "{month} {d}"),
            (re.compile(rf"(?<!\d){long_year} ?{year}(?P<m>{figures}) ?{month}"), "{month} {y}"),
            (re.compile(rf"(?<!\d){long_year} ?{year}(?![前後后])"), "in {y}"),
            (
                re.compile(rf"(?<![\d个個〇零一二两兩三四五六七八九十廿])(?P<m>{figures}) ?{month[:4]}(?![份個个])"),
                "in {month}",
            ),
        ]
    month, weekday = holes["{month}"], holes["{day}"]
    of_week = rf"(?:(?:am |le |el |op |em |il |en |na |no )?{weekday}\.?,? (?:(?:den|dem|the|el|le|dia|il) )?)?"
    day = rf"(?P<d>{_DAY})(?:\.|er|re|º|°|ª|:e)?"
    first = rf"(?:(?P<e>{_DAY})\.? ?(?:-|–|to|bis|au|al|ao|a|tot|til|till|do|und|et|y|e|en|och|og|и|i|по) ?)?"
    return [
        (
            re.compile(rf"(?<![\w.-]){of_week}{first}{day} ?{_OF}(?:mois )?{month}\.?(?:,? ?{_OF}{_YEAR})?{_ENDS}"),
            "{day}{e}{d} {month} {y}",
        ),
        (re.compile(rf"(?<![\w.-]){_YEAR}\.? {month}\.? {day}\.?{_ENDS}"), "{d} {month} {y}"),
        (re.compile(rf"(?<![\w.-]){month}\.? {day},? {_OF}{_YEAR}{_ENDS}"), "{d} {month} {y}"),
        (re.compile(rf"(?<![\w.-]){month}\.?,? ?{_OF}{_YEAR}{_ENDS}"), "{month} {y}"),
    ]


def _put(template: str, match: re.Match[str], english: Mapping[str, Mapping[str, str]]) -> str:
    """Return an English expression with what a match has for its holes."""
    found: dict[str, str] = {}
    for group, text in match.groupdict().items():
        if text is not None:
            name = group.rstrip("0123456789")
            found[name] = english.get(name, {}).get(text, text)
    for name in ("n", "d", "m", "y"):
        if found.get(name) and not found[name].isascii():
            found[name] = str(_of_figures(found[name]))
    if "m" in found:
        found["month"] = _MONTHS[(int(found["m"]) - 1) % 12]
        found |= {name: found[name].zfill(2) for name in ("m", "d") if name in found}
    if found.get("e"):
        found["e"] += "-"
    if found.get("day") and found.get("d"):
        found["day"] += ", "
    if found.get("n") and found.get("u"):
        found["u"] += "s"
    return template.format(**{"day": "", "e": "", "y": "", **found}).strip()


def _of_figures(text: str) -> int:
    """Return the number that Chinese figures mean, below 100 with tens, or figure by figure.

    >>> [_of_figures(text) for text in ("十七", "二十", "二〇二三", "廿一")]
    [17, 20, 2023, 21]
    """
    text = text.replace("廿", "二十")
    if "十" not in text:
        return int("".join(str(_FIGURES[figure]) for figure in text))
    tens, _, ones = text.partition("十")
    return 10 * (_FIGURES[tens] if tens else 1) + (_FIGURES[ones] if ones else 0)


def _any(words: Collection[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _plain(text: str) -> str:
    """Return a text in lower case without accents, as long as it is."""
    return text if text.isascii() else "".join(map(_plain_character, text))


@lru_cache(maxsize=10_000)
def _plain_character(character: str) -> str:
    plain = folded(character)
    return plain if len(plain) == 1 else character
