"""Plans learned from the tool graphs of episodes: their structure, what changes state, and what they take. No I/O
except in `stage`.
"""
