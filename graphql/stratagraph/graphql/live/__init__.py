"""Subscriptions over WebSocket and server-sent events.

`socket` and `event_stream` speak the two protocols, `operations` checks and executes what they are sent, `delivery`
renders changes once for all who ask for the same, and `sessions` bounds how many streams there are and how long their
credential lasts. `parts` is what both transports stand on.
"""
