"""The weights of retrieval: what counts how much in the choice and the order of records, and what set each of them.

`recall` is benchmarks/recall.py on seven sets of conversations with their questions, `scenarios` the same benchmark on
the weeks of the tests, `learning` is benchmarks/learning.py: tasks of an agent, and the procedures that were learned
from earlier ones. Their figures are in benchmarks/README.md. Where it says "examples", only the examples of the tests
ask for the value, and no benchmark tells it from others.
"""

from __future__ import annotations

from enum import StrEnum

from stratagraph.store.model.enums import MemoryType


class Signal(StrEnum):
    """What may make a record a candidate."""

    WORDS = "words"  # BM25
    VECTORS = "vectors"  # nearness to the question in meaning, and of neighbours, where there is an embedder
    THREAD = "thread"  # words that neighbours in the thread and related records have, and the record lacks
    NAMES = "names"  # words, thread and vectors again, where the record has a name of the question
    TIME = "time"  # the same again, as far as the record's date fits the times that the question names
    RECENCY = "recency"  # 1 for the newest record; that of the others falls with their rank

    __hash__ = str.__hash__  # that of an enum is a call in Python, hundreds of times in a retrieval


# A record's fused score is the sum of the values of its signals, each from 0 to 1, times these weights.
WEIGHTS: dict[Signal, float] = {
    Signal.WORDS: 1.0,  # the unit
    Signal.VECTORS: 0.75,  # recall, with one embedder
    Signal.THREAD: 1.0,  # recall
    Signal.NAMES: 0.5,  # recall
    Signal.TIME: 0.5,  # recall
    Signal.RECENCY: 0.05,  # scenarios; it breaks ties, and recall is the same without
}

# How many records the searches return, before the signals reorder them.
CANDIDATES = 48  # by words; examples
FOR_NEWEST = 100  # the same where the newest is asked for: of many that match, it may match less; examples
WITH_PHRASES = 400  # the same of one with phrases, which few records with all of their words may have; examples

# The strength of an answer: how much of the question a record covers. The two scenarios, the two conversations, and
# questions of other stores.
STRONG_ENOUGH = 0.25  # of the best record; below it, nothing is known; recall, and questions of other stores
# The same where every name and number of the question is known and some are names; and where there are none, or only
# some of them are known.
FAINT_OF_NAMED = 0.05  # recall, and questions of other stores
FAINT = 0.14  # recall, and questions of other stores
SPECIFIC = 3.0  # weight of a name or number beside that of another word of the same rarity; recall, scenarios
UNKNOWN = 1.5  # the same beside a name or number that a candidate has, where none has it; recall, scenarios
UNKNOWN_PART = 0.25  # the same of a pair of characters, or a compound of which a candidate has a part; recall
NAME_ALONE = 0.5  # part of their weight of names in a record with none of the other words; recall, scenarios
MOST_RAISED = 0.5  # to which a small number of records raises nearness, so that an unknown name stays unknown; examples
MANY = 150  # records from which on nearness counts for the strength as it is: about those of a scenario's week
NAMESAKE = 0.1  # share of its signals that a record of another full name keeps; examples
MOST_NAMED = 50  # best records that are compared with a full name; examples
MOST_RESPELLED = 2  # unknown names of a question that are looked up in other spellings; examples
ONE_WORD = 0.5  # share of the strength of a sentence of a message that asks with one word; examples
MISSPELT = 0.5  # share of a word's weight that a misspelt name has, times the similarity; examples

# Neighbours in threads, and related records.
NEXT = 0.5  # part of a word's weight that the next event in the thread adds; recall
FURTHER = 0.5  # of it for each further step; recall

# Times.
SAID = 0.7  # most that a record fits a time which its text names; one of the time fits it better; examples
APART = 0.25  # share that a record of another time keeps where only a name and a time are asked for; examples
BESIDE = 0.5  # most that a record fits a time beside which it is; what is of the time fits it better
CLOSE = 0.4  # least fit of a record whose date is shown as of the time: a third of its length beside it; examples
IN_TIME = 0.1  # least value of the signal TIME for a record of a time that the question names; examples
AS_TEXT = 0.1  # of the signals of a text, where the question asks for a time and for nothing else; examples
NAMED_TIME = 0.5  # strength of a text that names the time, where the question asks for nothing else; examples
LANDMARK = 0.75  # least share of the weight of an event's words that the record of the event has; examples
COMPARABLE = 0.5  # share of the best score from which candidates compete for being newest; examples

# From the fused score to the rank. As plain factors, salience and confidence would push every episode out of the answer
# after a day (docs/specification.md, Retrieval).
SALIENCE_FLOOR = 0.7  # share of the score that no loss of salience takes; scenarios
CONFIDENCE_FLOOR = 0.8  # the same of confidence; scenarios
BARE = 0.4  # share of the score of an entity of which only names are stored; examples
HOP = 0.5  # share of a score that is passed on over one hop, at weight 1; examples

# Order of the layers where scores tie (docs/specification.md, Retrieval).
LAYERS = (
    MemoryType.WORKING,
    MemoryType.ENTITY,
    MemoryType.SEMANTIC,
    MemoryType.COMPETENCE,
    MemoryType.PLAN_GRAPH,
    MemoryType.EPISODIC,
)

# Records that say the same, and those that resemble each other. Recall and scenarios are the same with and without.
ALIKE = 0.5  # least resemblance of two events of which one lowers the score of the other
LOWERED = 0.9  # part of its score that an event keeps for each root before it that it resembles
MOST_LOWERED = 3  # such roots that count, so that an event keeps 0.73 of its score at least
SURVEY = 25  # roots; who asks for more wants all that there is, as for the evidence in one thread
MISSING = 0.1  # part of a fact's words that the event which it quotes may lack, such as a word that was cut; examples
LEAST_QUOTED = 4  # words by which a long event is recognised; examples

# Learned procedures, by the tools that a task needs (`learning/needs/model.py` has the weights of the model).
FAMILIAR = 0.17  # least nearness by known words, where only procedures are asked for; learning, questions of others
FAMILIAR_AMONG_ALL = 0.2  # least nearness by all words, where other records may answer too; learning, recall
NEEDED = 0.4  # least probability of a tool of a composed plan; learning
FITS = (
    0.2  # by which the log likelihood of a known procedure is above that of a plan which is not composed then; learning
)
SAME_TOOLS = 0.5  # share of its words that a procedure keeps after a better one with the same tools; learning
