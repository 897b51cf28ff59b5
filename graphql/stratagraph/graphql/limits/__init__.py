"""Fair use: the cost of an operation, the budget of each credential, and the slots that credentials share.

See docs/requests.md.
"""
