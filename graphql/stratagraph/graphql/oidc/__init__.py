"""OpenID Connect: access tokens of one trusted issuer.

A token grants only what its claims state; a missing claim grants the least. Every refusal gives the caller the same
error. The reason is logged, without any part of the token.
"""
