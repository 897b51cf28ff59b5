"""Irregular forms of English words: a question in one form asks for the others, and for its own first."""

from __future__ import annotations

import pytest

from stratagraph.store.model.analysis import irregular_forms
from stratagraph.store.model.analysis.lexemes import asked, lexemes

GROUPS = [group.split() for group in irregular_forms._GROUPS.split(";")]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
def test_a_question_in_any_form_finds_records_with_each(group: list[str]) -> None:
    for form in group:
        (word,) = (one for one in asked(f"who {form} it") if one.text == form)
        for other in group:
            assert set(word.forms) & set(lexemes(f"the {other} report")), (form, other)
        assert word.forms[0] in lexemes(f"the {form} report")


def test_no_form_belongs_to_two_words() -> None:
    forms = [form for group in GROUPS for form in group]
    assert len(forms) == len(set(forms))


def test_names_and_words_of_other_languages_have_no_other_forms() -> None:
    assert [one.forms for one in asked("Did Rose meet Met?")][0::2] == [("rose",), ("met",)]
    (swept,) = (one for one in asked("wir haben die Daten nicht rose") if one.text == "rose")
    assert "rise" not in swept.forms
