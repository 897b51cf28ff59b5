"""What skills and plans are learned from: calls of tools, where their arguments came from, and what came of them.

`observation` is the state of everything observed of one skill or plan. Two states can be merged in any order, so that
what is learned depends neither on the order of episodes nor on how they are split into batches; and an episode can be
taken out of a state again, so that erasing it leaves none of its words behind. Payloads are computed from the state
alone: those of skills in `learning.competence`, those of plans in `learning.plans`. No module here does I/O.
"""
