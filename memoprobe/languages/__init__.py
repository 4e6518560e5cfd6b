"""Lex and parse code per language; a language is a row of data.

Everything here tolerates broken code, for a model's answer need not parse, and fragments
such as a method without its class, which is what many benchmarks hold.
"""

from memoprobe.languages.definitions import Statement, defines, docstring, pieces, statements
from memoprobe.languages.lexing import (
    rename_identifiers,
    strip_comments,
    tidy,
    tokens,
    undocumented,
    words,
)
from memoprobe.languages.parsing import decode, encode, parse, parses
from memoprobe.languages.table import LANGUAGES, Language

__all__ = [
    "LANGUAGES",
    "Language",
    "Statement",
    "decode",
    "defines",
    "docstring",
    "encode",
    "parse",
    "parses",
    "pieces",
    "rename_identifiers",
    "statements",
    "strip_comments",
    "tidy",
    "tokens",
    "undocumented",
    "words",
]
