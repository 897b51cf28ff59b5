"""Forms of English words that share no stem: "bought" of "buy", "children" of "child".

A question says "What did she buy?", and the record "She bought …". Only questions use them: a word is asked for in its
other forms, too, so records need not be analysed again. Left out are verbs that say little of what is asked for (get,
give, make, take; know, say, see, tell, think: what people said seldom has the verb), and forms that are as often words
of their own (bore, ground, lay, spring, wound). Names are written with a capital, and have no other forms.
"""

from __future__ import annotations

from stratagraph.store.model.analysis.languages import BASE, stem

_GROUPS = """
arise arose arisen; awake awoke awoken; bear borne; beat beaten; become became; begin began begun; bend bent; bind
bound; bite bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn
burnt; buy bought; catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw
drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive
forgave forgiven; freeze froze frozen; go goes went gone; grow grew grown; hang hung; hear heard; hide hid hidden;
hold held; keep kept; kneel knelt; lead led; lean leant; leap leapt; learn learnt; leave left; lend lent; lie lain;
light lit; lose lost; mean meant; meet met; mistake mistook mistaken; oversee oversaw overseen; override overrode
overridden; overwrite overwrote overwritten; pay paid; prove proven; rebuild rebuilt; redo redid redone; rerun reran;
rewrite rewrote rewritten; ride rode ridden; ring rang rung; rise rose risen; run ran; seek sought; sell sold; send
sent; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk;
sit sat; sleep slept; slide slid; speak spoke spoken; speed sped; spend spent; spill spilt; spin spun; spoil spoilt;
stand stood; steal stole stolen; stick stuck; sting stung; strike struck stricken; strive strove striven; swear swore
sworn; sweep swept; swell swollen; swim swam swum; swing swung; teach taught; tear tore torn; throw threw thrown;
undergo underwent undergone; understand understood; undertake undertook undertaken; undo undid undone; wake woke
woken; wear wore worn; weave wove woven; weep wept; win won; withdraw withdrew withdrawn; write wrote written;
child children; crisis crises; criterion criteria; foot feet; goose geese; half halves; hypothesis hypotheses; index
indices; knife knives; man men; matrix matrices; mouse mice; person people; shelf shelves; thief thieves; tooth teeth;
vertex vertices; wife wives; wolf wolves; woman women
"""


def _others() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _GROUPS.split(";"):
        stems = list(dict.fromkeys(stem(word, BASE) for word in group.split()))
        found |= {one: tuple(other for other in stems if other != one) for one in stems}
    return found


_OTHERS = _others()


def irregular_forms(word: str) -> tuple[str, ...]:
    """Return the English stems of the other forms of a word that is written in lower case; none for a regular word.

    >>> irregular_forms("bought"), irregular_forms("children"), irregular_forms("Rose")
    (('buy',), ('child',), ())
    """
    return _OTHERS.get(stem(word, BASE), ()) if word.islower() else ()
