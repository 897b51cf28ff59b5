"""Records and relations: reading them under a caller's trust, writing them, and what they rest on.

Begin with `writing` (how a transaction is put together) and `reading` (how rows become records). Facts, entities,
episodes and working records each have a module for the rules of their type.
"""
