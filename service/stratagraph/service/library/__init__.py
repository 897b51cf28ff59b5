"""The library form: `stratagraph.open` runs the store in the caller's process, or joins the process that runs it.

Everything runs in a thread of its own with its own event loop: the caller's loop may be any, may be blocked for a
while, and may end. The process's settings, signals and output are left alone.
"""
