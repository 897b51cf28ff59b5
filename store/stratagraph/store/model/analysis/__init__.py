"""The analysis of texts: from a record or a question to the terms by which one is found for the other.

`lexemes` reads a text in one pass, `folding` makes spellings equal, `languages` finds the language of a text and the
stems of its words, `identifiers` takes the names of code, files and releases apart. See docs/data-model.md, Search.
"""
