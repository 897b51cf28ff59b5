"""Imports of what happened elsewhere: git histories, recorded conversations, and memories of other systems."""
