"""The grammar of times: expressions of English, and the intervals that each of their matches means. Pure.

Those of other languages are put into English first: see `time_languages`.

Days begin at midnight UTC and weeks on Monday. Words that mean other things too count only where they can mean nothing
else: "may", "march", "sun" and "second" only beside a number or another word of time. dateparser was tried: it takes
"we" for Wednesday and "I may" for a month, returns instants instead of intervals, and needs 0.2 to 4 ms and 25 MB.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH_OF = {name: place for place, month in enumerate(_MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}
RECURRING = 26  # of the latest days that "on Fridays" means: half a year
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {name: value for value, name in enumerate(_COUNTS, 1)} | {
    "a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3
}  # fmt: skip

MONTH = "(?:" + "|".join(sorted(_MONTH_OF, key=len, reverse=True)) + r")\b\.?"
_NUMBER = r"(?:\d{1,3}|(?:a )?couple of|(?:a )?few|an?|" + "|".join(_COUNTS) + ")"
_UNIT = r"(?:minute|hour|day|week|fortnight|month|quarter|year)"
YEAR = r"(?:19|20)\d\d"
_DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_PART_OF_DAY = "(?: (?:early |late )?(?P<p>morning|afternoon|evening|night))?"
_HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}  # from midnight on
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # by their first months
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_TEENS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
_TEENS += "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
_ORDINAL_DAYS = (
    {name: day for day, name in enumerate(_TEENS.split(), 1)}
    | {f"twenty{sign}{name}": day for sign in "- " for day, name in enumerate(_TEENS.split()[:9], 21)}
    | {"thirtieth": 30, "thirty-first": 31, "thirty first": 31}
)
_ORDINAL_DAY = "(?:" + "|".join(sorted(_ORDINAL_DAYS, key=len, reverse=True)) + ")"
_AMBIGUOUS = ("may", "mar", "march")  # months that are verbs or names, too
_TO = r" ?(?:-|–|to|and|until|till) ?"  # between the days of one month
# The weekday of a date.
_ON = rf"(?:(?P<w>{'|'.join(_DAYS)}|{'|'.join(f'{day[:3]}' for day in _DAYS)})\.?,? (?:the )?)?"
# Words before a date without a year, in English and in the other languages that write "17.3." and "17/3".
_DATING = re.compile(
    r"\b(?:on|since|before|after|until|till|by|from|of|am|vom|bis|seit|zum|le|du|depuis|el|del|desde|il|dal|em|dia|op"
    r"|den|sinds)(?: the| the day of| el| den| dia)? $"
)

Interval = tuple[datetime, datetime]
Reading = Callable[[re.Match[str], datetime], "Interval | list[Interval] | None"]  # several: as many readings
WEEKLY, MONTHLY, YEARLY = timedelta(days=7), timedelta(days=28), timedelta(days=365)  # after which such a time recurs
_MOST_CYCLES = 9  # until a time that recurs is in the future: 29 February may be eight years ahead


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression, and the reading of its matches.

    A time that recurs after `every` may be the last or the next such one; `is_coming` is read only of the future.
    """

    expression: re.Pattern[str]
    reading: Reading
    every: timedelta | None = None
    is_coming: bool = False

    def next_ones(self, match: re.Match[str], now: datetime) -> list[Interval]:
        """Return the times of a match that come next after `now`; none if the words have only one meaning."""
        found = match.groupdict()
        if self.every is None or found.get("y") or found.get("w") in ("last", "past", "previous", "next", "coming"):
            return []
        for cycle in range(1, _MOST_CYCLES + 1):
            read = listed(self.reading(match, now + cycle * self.every))
            if ahead := [one for one in read if one[0] > now]:
                return ahead
        return []


def listed(found: Interval | list[Interval] | None) -> list[Interval]:
    """Return the intervals that a reading returned."""
    return found if isinstance(found, list) else [found] if found is not None else []


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _period(unit: str, at: datetime) -> Interval:
    """Return the minute, hour, day, week, month, quarter or year that an instant is in; of a fortnight, its week."""
    day = _midnight(at)
    unit = "week" if unit == "fortnight" else unit
    if unit == "year":
        return _year(day.year)
    if unit == "quarter":
        first = 3 * ((day.month - 1) // 3) + 1
        return _month(day.year, first)[0], _month(day.year, first + 2)[1]
    if unit == "month":
        return _month(day.year, day.month)
    start = {
        "minute": at.replace(second=0, microsecond=0),
        "hour": at.replace(minute=0, second=0, microsecond=0),
        "day": day,
        "week": day - timedelta(days=day.weekday()),
    }[unit]
    return start, start + timedelta(**{f"{unit}s": 1})


def _month(year: int, month: int) -> Interval:
    start = datetime(year, month, 1, tzinfo=UTC)
    return start, start + timedelta(days=monthrange(year, month)[1])


def _year(year: int) -> Interval:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _date(year: int, month: int, day: int) -> Interval:
    start = datetime(year, month, day, tzinfo=UTC)
    return start, start + timedelta(days=1)


def _back(unit: str, number: int, now: datetime) -> datetime:
    """Return the instant so many units before `now`; months and years keep the day where it exists."""
    if unit in ("month", "quarter", "year"):
        months = now.year * 12 + now.month - 1 - number * {"month": 1, "quarter": 3, "year": 12}[unit]
        year, month = divmod(months, 12)
        return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
    if unit == "fortnight":
        unit, number = "week", 2 * number
    return now - number * timedelta(**{f"{unit}s": 1})


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text]


def _day_number(text: str) -> int:
    return _ORDINAL_DAYS[text] if text in _ORDINAL_DAYS else int(text.rstrip("stndrh"))


def _last_one(month: int, day: int, now: datetime, weekday: str | None = None) -> Interval:
    """Return the latest such day that is not in the future; 29 February may be years ago.

    With a weekday, it is the latest one that fell on that, or else without.
    """
    found = None
    for year in range(now.year, now.year - 9, -1):
        if day <= monthrange(year, month)[1] and (one := _date(year, month, day))[0] <= now:
            found = found or one
            if weekday is None or _DAYS[one[0].weekday()].startswith(weekday):
                return one
    if found is None:
        raise ValueError("no such day")
    return found


def _iso(match: re.Match[str], now: datetime) -> Interval:
    year, month, day = int(match["y"]), int(match["m"]), match["d"]
    return _month(year, month) if day is None else _date(year, month, int(day))


def _ago(match: re.Match[str], now: datetime) -> Interval:
    unit, number = match["u"], _number(match["n"])
    start, end = _period(unit, _back(unit, number, now))
    if unit == "day" or (number == 1 and unit != "fortnight"):
        return start, end
    # "Two weeks ago" is said of a week and a half ago.
    return start - (end - start) / 2, end + (end - start) / 2


def _in(match: re.Match[str], now: datetime) -> Interval:
    """Return the time so many units ahead: "in three weeks" is said of two and a half weeks, too."""
    unit, number = match["u"], _number(match["n"])
    start, end = _period(unit, _back(unit, -number, now))
    wider = (end - start) / 2 if unit != "day" else timedelta(0)
    return start - wider, end + wider


def _past(match: re.Match[str], now: datetime) -> Interval:
    """Return the last so many units until now; "this past week" is the last seven days."""
    return _back(match["u"], _number(match.groupdict().get("n") or "one"), now), now


def _relative(match: re.Match[str], now: datetime) -> Interval:
    number = {"last": 1, "previous": 1, "this": 0, "current": 0, "next": -1}[match["w"]]
    return _period(match["u"], _back(match["u"], number, now) if number else now)


def _before_last(match: re.Match[str], now: datetime) -> Interval:
    return _period(match["u"], _back(match["u"], 2, now))


def _part_of_day(match: re.Match[str], day: Interval) -> Interval:
    """Return the part of a day that the words after it name, if they do; its night ends in the next morning."""
    if match["p"] is None:
        return day
    first, last = _HOURS[match["p"]]
    return day[0] + timedelta(hours=first), day[0] + timedelta(hours=last)


def _weekday(match: re.Match[str], now: datetime) -> Interval | list[Interval]:
    """Return the latest such day before today, or for "this" and "on" today itself, if the part named has begun.

    "Next Friday" is the coming one or, where that is in this week, perhaps the one of the next week.
    """
    back = (now.weekday() - _DAYS.index(match["day"])) % 7
    if match["w"] in ("next", "coming"):
        weeks = (0, 1) if match["w"] == "next" and now.weekday() < _DAYS.index(match["day"]) else (0,)
        return [_part_of_day(match, _period("day", now + timedelta(days=7 - back, weeks=week))) for week in weeks]
    if back == 0 and match["w"] not in ("this", "on", "by"):
        back = 7
    found = _part_of_day(match, _period("day", now - timedelta(days=back)))
    return found if found[0] <= now else (found[0] - timedelta(days=7), found[1] - timedelta(days=7))


def _weekday_of_week(match: re.Match[str], now: datetime) -> Interval:
    monday = _relative(match, now)[0]
    return _period("day", monday + timedelta(days=_DAYS.index(match["day"])))


def _weekdays(match: re.Match[str], now: datetime) -> Interval:
    last = now - timedelta(days=(now.weekday() - _DAYS.index(match["b"])) % 7)
    first = last - timedelta(days=(last.weekday() - _DAYS.index(match["a"])) % 7)
    return _period("day", first)[0], _period("day", last)[1]


def _every(match: re.Match[str], now: datetime) -> list[Interval]:
    """Return the latest RECURRING of the days that "on Fridays" means, the latest first."""
    day = _period("day", now - timedelta(days=(now.weekday() - _DAYS.index(match["day"])) % 7))
    return [tuple(at - timedelta(weeks=back) for at in day) for back in range(RECURRING)]  # type: ignore[misc]


def _in_figures(match: re.Match[str], now: datetime) -> list[Interval] | None:
    """Return the date of `24.01.2024`, whose day is first, or the one or two that `12/10/2024` may mean.

    `24.01.24` may be a version, unless a word of dating is before it.
    """
    one, other, year = int(match["a"]), int(match["b"]), int(match["y"])
    if year < 100:
        year += 2000
        if match["s"] == "." and not _DATING.search(match.string, max(0, match.start() - 20), match.start()):
            return None
    return _readings(match["s"], one, other, lambda month, day: _date(year, month, day))


def _without_year(match: re.Match[str], now: datetime) -> list[Interval] | None:
    """Return the latest dates that `17/03` or `17.03.` may mean; a ratio or a version has no word of dating before it.

    With a slash, `17/03` is read without one, since neither a ratio nor a count begins with a zero.
    """
    one, other = int(match["a"]), int(match["b"])
    has_zero = match["s"] == "/" and "0" in (match["a"][0], match["b"][0]) and len(match[0]) == 5
    if not has_zero and not _DATING.search(match.string, max(0, match.start() - 20), match.start()):
        return None
    return _readings(match["s"], one, other, lambda month, day: _last_one(month, day, now))


def _readings(sign: str, one: int, other: int, date_of: Callable[[int, int], Interval]) -> list[Interval]:
    """Return the dates that two numbers may mean: the day is first; it may be second unless a dot is between them."""
    pairs = {(other, one)} if sign == "." else {(other, one), (one, other)}
    return [date_of(month, day) for month, day in sorted(pairs, key=lambda pair: pair != (other, one)) if month <= 12]


def _quarter(match: re.Match[str], now: datetime) -> Interval:
    """Return the quarter of the year named, or the latest such one that has begun."""
    number = int(match["q"]) if match["q"] else _ORDINALS[match["o"]]
    month = 3 * number - 2
    year = int(match["y"]) if match["y"] else now.year - (month > now.month)
    return _month(year, month)[0], _month(year, month + 2)[1]


def _dated(match: re.Match[str], now: datetime) -> Interval | None:
    month, day = _MONTH_OF[match["m"].rstrip(".")], _day_number(match["d"])
    if match["e"]:
        first, last = sorted((day, _day_number(match["e"])))
        of = _date(int(match["y"]), month, last) if match["y"] else _last_one(month, last, now)
        return of[0].replace(day=first), of[1]
    is_bare = match["d"].isdigit() or match["d"] in _ORDINAL_DAYS
    if match["m"] in _AMBIGUOUS and is_bare and not match["y"]:  # "version 7 may fail", "may 2 of them"
        rest = match.string[match.end() :].lstrip()
        if not _DATING.search(match.string, max(0, match.start() - 12), match.start()) and rest[:1] not in (
            "",
            *".,;?!",
        ):
            return None
    return _part_of_day(
        match, _date(int(match["y"]), month, day) if match["y"] else _last_one(month, day, now, match["w"])
    )


def _season(match: re.Match[str], now: datetime) -> Interval:
    """Return the season of the north: of the year named, in which winter begins, or the latest that has ended."""
    month = _SEASONS[match["s"] or match["t"]]
    year = int(match["y"]) if match["y"] else now.year - (month + 3 > now.month)
    start = _month(year, month)[0]
    return start, _back("month", -3, start)


def _years(match: re.Match[str], now: datetime) -> Interval | None:
    """Return the years of "from 2021 to 2023"; "2021 and 2023" alone are two numbers."""
    if " and " in match[0] and not match[0].startswith("between"):
        return None
    return _year(int(match["y"]))[0], _year(int(match["e"]))[1]


def _month_of_year(match: re.Match[str], now: datetime) -> Interval:
    return _month(int(match["y"]), _MONTH_OF[match["m"].rstrip(".")])


def _nth_of_month(match: re.Match[str], now: datetime) -> Interval:
    """Return the first, second or last of the weekdays, weekends or weeks of a month."""
    month = _MONTH_OF[match["m"].rstrip(".")]
    year = int(match["y"]) if match["y"] else now.year - (month > now.month)
    start, end = _month(year, month)
    weekday = _DAYS.index(match["u"]) if match["u"] in _DAYS else 5 if match["u"] == "weekend" else 0
    days = [start + timedelta(days=(weekday - start.weekday()) % 7 + 7 * week) for week in range(5)]
    days = [day for day in days if day < end]
    day = days[-1] if match["n"] == "last" else days[_ORDINALS[match["n"]] - 1]
    return day, day + timedelta(days={"weekend": 2, "week": 7}.get(match["u"], 1))


def _month_alone(match: re.Match[str], now: datetime) -> Interval:
    month = _MONTH_OF[match["m"]]
    return _month(now.year if month <= now.month else now.year - 1, month)


def _weekend(match: re.Match[str], now: datetime) -> Interval:
    """Return the latest weekend: the one that has begun, unless the words are "last weekend"."""
    monday, end = _period("week", now)
    if now.weekday() >= _DAYS.index("saturday") and not match[0].startswith("last"):
        monday = end
    return monday - timedelta(days=2), monday


def _next_weekend(match: re.Match[str], now: datetime) -> list[Interval]:
    """Return the coming weekend, or for "next" on a weekday perhaps the one after it."""
    saturday = _period("week", now)[1] - timedelta(days=2)
    if now >= saturday:
        saturday += timedelta(days=7)
    weeks = (0, 1) if match[0].startswith("next") and now.weekday() < _DAYS.index("saturday") else (0,)
    return [(saturday + timedelta(weeks=week), saturday + timedelta(weeks=week, days=2)) for week in weeks]


def _night(_: re.Match[str], now: datetime) -> Interval:
    return _midnight(now) - timedelta(hours=6), _midnight(now) + timedelta(hours=6)


def _day_back(days: int) -> Callable[[re.Match[str], datetime], Interval]:
    return lambda match, now: _part_of_day(match, _period("day", now - timedelta(days=days)))


def _nth(match: re.Match[str], now: datetime) -> Interval:
    """Return the latest such day of a month that has begun."""
    day, year, month = _day_number(match["d"]), now.year, now.month
    for back in range(3):
        of, place = divmod(year * 12 + month - 1 - back, 12)
        if day <= monthrange(of, place + 1)[1] and (one := _date(of, place + 1, day))[0] <= now:
            return one
    raise ValueError("no such day")


def _rule(pattern: str, reading: Reading, every: timedelta | None = None, *, is_coming: bool = False) -> Rule:
    return Rule(re.compile(rf"(?<![\w.-]){pattern}(?:'s|’s)?(?![\w-])"), reading, every, is_coming)


# In order: what one has read is not read again.
RULES = (
    _rule(
        r"(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?:-(?P<d>0[1-9]|[12]\d|3[01]))?"
        r"(?:[t ]\d\d:[\d:.]+(?:z|[+]\d\d:?\d\d)?)?",
        _iso,
    ),
    _rule(r"(?P<y>(?:19|20)\d\d)(?P<s>[/.])(?P<m>0?[1-9]|1[0-2])(?P=s)(?P<d>0?[1-9]|[12]\d|3[01])", _iso),
    _rule(rf"(?P<a>\d\d?)(?P<s>[./-])(?P<b>\d\d?)(?P=s)(?P<y>{YEAR})", _in_figures),
    _rule(r"(?P<a>\d\d)(?P<s>[./])(?P<b>\d\d)(?P=s)(?P<y>\d\d)(?!\.\d)", _in_figures),
    _rule(
        rf"{_ON}(?:(?P<e>{_DAY_NUMBER}){_TO})?(?P<d>{_DAY_NUMBER}|{_ORDINAL_DAY}(?= of ))(?: of)? (?P<m>{MONTH}),?"
        rf"(?: (?P<y>{YEAR}))?{_PART_OF_DAY}",
        _dated,
        YEARLY,
    ),
    _rule(
        rf"{_ON}(?P<m>{MONTH}) (?:the )?(?P<d>{_DAY_NUMBER}|{_ORDINAL_DAY})(?:{_TO}(?P<e>{_DAY_NUMBER}))?"
        rf"(?:,? (?P<y>{YEAR}))?{_PART_OF_DAY}",
        _dated,
        YEARLY,
    ),
    _rule(r"(?P<a>\d\d?)(?P<s>/)(?P<b>\d\d?)(?!/)", _without_year, YEARLY),
    _rule(r"(?P<a>\d\d?)(?P<s>\.)(?P<b>\d\d?)\.", _without_year, YEARLY),
    _rule(
        rf"(?P<n>last|{'|'.join(_ORDINALS)}) (?P<u>{'|'.join(_DAYS)}|weekend|week) (?:of|in) (?P<m>{MONTH})"
        rf"(?:,? (?P<y>{YEAR}))?",
        _nth_of_month,
        YEARLY,
    ),
    _rule(rf"(?P<m>{MONTH})(?:,| of)? (?P<y>{YEAR})", _month_of_year),
    _rule(rf"(?P<n>{_NUMBER}) (?P<u>{_UNIT})s? (?:ago|earlier|back)", _ago),
    _rule(rf"(?:with)?in (?P<n>{_NUMBER}) (?P<u>{_UNIT})s?(?:['’] time)?", _in, is_coming=True),
    _rule(rf"(?P<n>{_NUMBER}) (?P<u>{_UNIT})s? from now", _in, is_coming=True),
    _rule(rf"(?:last|past|previous) (?P<n>{_NUMBER}) (?P<u>{_UNIT})s?", _past),
    _rule(rf"(?:this |the )?past (?P<u>{_UNIT})", _past),
    _rule(rf"(?:in|over|during|within|for|throughout) the last (?P<u>{_UNIT})(?! of)", _past),
    _rule("(?:the )?last (?P<u>fortnight)", _past),
    _rule(f"day before yesterday{_PART_OF_DAY}", _day_back(2)),
    _rule(f"yesterday{_PART_OF_DAY}", _day_back(1)),
    _rule(f"day after tomorrow{_PART_OF_DAY}", _day_back(-2)),
    _rule(f"tomorrow{_PART_OF_DAY}", _day_back(-1)),
    _rule("last night", _night),
    _rule("(?:today|tonight|this (?:morning|afternoon|evening))", lambda _, now: _period("day", now)),
    _rule("(?:(?:this |the )?coming|next) weekend", _next_weekend),
    _rule("(?:last|past|this past) weekend", _weekend),
    _rule("(?:this|the) weekend", _weekend, WEEKLY),
    _rule(rf"(?P<u>{_UNIT}) before last", _before_last),
    _rule(
        rf"(?:q(?P<q>[1-4])|(?P<o>{'|'.join(_ORDINALS)}) quarter)(?:(?: of)? (?P<y>{YEAR})|(?! of))", _quarter, YEARLY
    ),
    _rule(rf"(?:from|between) (?P<a>{'|'.join(_DAYS)}) (?:to|through|and) (?P<b>{'|'.join(_DAYS)})", _weekdays, WEEKLY),
    _rule(rf"(?P<day>{'|'.join(_DAYS)}) (?:of )?(?P<w>last|this|next) (?P<u>week)", _weekday_of_week),
    _rule(rf"(?P<w>last|previous|this|current|next) (?P<u>{_UNIT})", _relative),
    _rule(
        r"(?:(?:this|the) )?(?P<w>last|past|coming|this|on|by|since|before|after|previous|next)"
        rf" (?P<day>{'|'.join(_DAYS)}){_PART_OF_DAY}",
        _weekday,
        WEEKLY,
    ),
    _rule(rf"(?:on |every |each )(?P<day>{'|'.join(_DAYS)})(?:s| (?:morning|afternoon|evening|night)s)", _every),
    _rule(rf"(?:every|each) (?P<day>{'|'.join(_DAYS)})", _every),
    _rule(r"(?:on|since|until|by|before|after) the (?P<d>\d\d?(?:st|nd|rd|th))(?=\s*(?:[.,;?!]|$))", _nth, MONTHLY),
    _rule(rf"(?:the )?(?P<s>{'|'.join(_SEASONS)}),?(?: of)? (?P<y>{YEAR})|last (?P<t>{'|'.join(_SEASONS)})", _season),
    _rule(rf"(?:(?:from|between) )?(?P<y>{YEAR}) ?(?:to|and|through|until|-|–) ?(?P<e>{YEAR})", _years),
    _rule(
        rf"(?:in|during|since|before|after|last|early|late|mid|of)[ -](?P<m>{'|'.join(_MONTHS)})", _month_alone, YEARLY
    ),
    _rule(
        r"(?:in|during|since|before|after|until|of|from|by|throughout|early|late|mid|around|year|en|em|nel)[ -]"
        rf"(?P<y>{YEAR})",
        lambda match, _: _year(int(match["y"])),
    ),
)
HINT = re.compile(
    r"\d|day|tomorrow|fortnight|night|week|month|quarter|year|hour|minute|morning|afternoon|evening|spring|summer|autumn|winter|"
    + "|".join(_MONTHS)
)
# What tells whether the times of a sentence are to come or have been; not the words of other times, as "last week".
COMING = re.compile(
    r"\b(?:will|won['’]t|shall|going to|gonna|can['’]t wait|look(?:ing)? forward|upcoming|(?:is|are) (?:planned|due|on)"
    r"|(?:is|are) scheduled|werden?|wirst|wird|muss|müssen|sollen?|freue|vais|allons|vont|vamos a|voy a|andremo|zal"
    r"|zullen|moet)\b|['’](?:ll\b|s (?:planned|scheduled|due|on)\b)|将|將|打算"
)
_ASKING = "ich|du|er|sie|es|wir|ihr|man|hab|hat|ist|sind|war|wird|werde|soll|muss|mach|passier|geschah"  # German "was"
# What was done to a plan may still be to come: "the trip was moved to Friday".
_ARRANGED = "plann|re?schedul|schedul|book|invit|arrang|expect|mov|postpon|delay|set|due|told|suppos|agre|decid|announc"
GONE = re.compile(
    rf"\b(?:(?:was|were)(?! (?:{_ASKING}|{_ARRANGED}))|went|had|did|didn['’]t|got|came|saw|took|bought"
    rf"|ate|flew|spent|paid|lost|(?:i|we|he|she|they) (?!{_ARRANGED}|need)\w+[^\We]ed"
    r"|war|warst|waren|wart|hatten?|wurden?|gingen|ging|kam|kamen|étais|était|étaient|avais|avait|fui|fue|fuimos"
    r"|estuve|estaba|ero|eravamo|estive)\b"
)
_PRESENT = re.compile(r"\b(?:am|is|are|be|would|ist|sind|bin|est|sont|suis)\b|['’](?:m|s|re|d)\b")
_ENDS = re.compile(r"(?<!\d)[.!?;](?=\s|$)|[。！？\n]")


def tenses(text: str) -> Callable[[int, int], bool | None]:
    """Return what tells of a place in a text in lower case whether its sentence is of the future (True) or the past.

    >>> [tenses("we went on 3 may. it will rain on 4 may")(*at) for at in ((11, 16), (32, 37))]
    [False, True]
    """
    ends = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    known: dict[str, bool | None] = {}

    def tense(start: int, end: int) -> bool | None:
        sentence = text[ends[bisect_right(ends, start) - 1] : ends[min(bisect_left(ends, end), len(ends) - 1)]]
        if sentence not in known:
            is_coming, is_gone = COMING.search(sentence) is not None, GONE.search(sentence) is not None
            is_gone = is_gone and (is_coming or not _PRESENT.search(sentence))
            known[sentence] = is_coming if is_coming != is_gone else None
        return known[sentence]

    return tense


# A question for what was, at whatever time: "who has worked at Penhale?", "what did Ann use before?"
PAST = re.compile(
    r"\b(?:has|have|had|did|was|were|used to|ever|formerly|previously|in the past|earlier|once|former|previous"
    r"|(?:who|what|which \w+) \w{2,}ed)\b"
    r"|\b(?:war|waren|wurden?|hatten?|früher|vorher|jemals|ehemals|bisher|était|étaient|avant|jadis|autrefois|ancien"
    r"|antes|anteriormente|alguna vez|prima|precedente|in passato|anteriormente|vroeger|eerder|ooit)\b"
    r"|以前|之前|曾经|曾|过去|過去"
)
# "the last release" asks for the newest one, "the last few days" for a time, and "the last name" for neither.
_NO_LAST = rf"(?:few|couple|several|{_NUMBER}|{_UNIT}s?|names?|words?|lines?|pages?|mile|minute|resort|chance|straw)"
NEWEST = re.compile(
    r"\b(?:latest|newest|most recent|recent|recently|just now|what(?:'s|’s| is) new"
    rf"|the last (?!{_NO_LAST}\b)\w+|when did \w+ last)\b"
)
