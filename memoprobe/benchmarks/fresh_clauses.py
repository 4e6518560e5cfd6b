"""List the parts that generated tasks are composed of, each in prose, in code and as a function.

The function is written independently of the spellings in code, so that the tests
derived from it check them. Fresh controls and the demo are composed of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """Hold one step of a task.

    In phrases and spellings ``{p}`` is the parameter, in phrases ``{n}`` and ``{o}`` are what
    many values and one are called, in spellings ``{v}`` the value or the list it works on.
    """

    phrases: tuple[str, ...]
    spellings: tuple[str, ...]
    apply: Callable[[Any, Any], Any]  # (value or list, parameter) -> result
    parameters: tuple[Any, ...] = (None,)


SMALL = (2, 3, 4, 5, 6, 7, 8, 9)
FEW = (2, 3, 4)
LETTERS = tuple("abdelmnorst")

NUMBER_FILTERS = {
    "even": Clause(
        phrases=(
            "select all the {n} that are even",
            "remove all odd {n}",
            "extract the {n} which are divisible by two",
        ),
        spellings=("{v} % 2 == 0", "not {v} % 2"),
        apply=lambda x, _: x % 2 == 0,
    ),
    "odd": Clause(
        phrases=(
            "select all the {n} that are odd",
            "remove all even {n}",
            "extract the {n} which are not even",
        ),
        spellings=("{v} % 2 == 1", "{v} % 2 != 0"),
        apply=lambda x, _: x % 2 == 1,
    ),
    "positive": Clause(
        phrases=(
            "select all the {n} that are positive",
            "extract the {n} which are above zero",
            "ignore {n} that are zero or less",
        ),
        spellings=("{v} > 0", "0 < {v}"),
        apply=lambda x, _: x > 0,
    ),
    "negative": Clause(
        phrases=(
            "select all the {n} that are negative",
            "extract the {n} which are below zero",
            "ignore {n} that are zero or more",
        ),
        spellings=("{v} < 0", "0 > {v}"),
        apply=lambda x, _: x < 0,
    ),
    "above": Clause(
        phrases=(
            "select all the {n} greater than {p}",
            "extract the {n} which are larger than {p}",
            "ignore {n} that are at most {p}",
        ),
        spellings=("{v} > {p}", "{p} < {v}"),
        apply=lambda x, p: x > p,
        parameters=SMALL,
    ),
    "below": Clause(
        phrases=(
            "select all the {n} less than {p}",
            "extract the {n} which are smaller than {p}",
            "ignore {n} that are at least {p}",
        ),
        spellings=("{v} < {p}", "{p} > {v}"),
        apply=lambda x, p: x < p,
        parameters=SMALL,
    ),
    "multiple": Clause(
        phrases=(
            "select all the multiples of {p}",
            "extract the {n} which are divisible by {p}",
            "ignore {n} that {p} does not divide",
        ),
        spellings=("{v} % {p} == 0", "not {v} % {p}"),
        apply=lambda x, p: x % p == 0,
        parameters=SMALL[1:],
    ),
    "other": Clause(
        phrases=(
            "select all the {n} different from {p}",
            "remove every {p} from the {n}",
            "ignore {n} that are equal to {p}",
        ),
        spellings=("{v} != {p}", "not {v} == {p}"),
        apply=lambda x, p: x != p,
        parameters=SMALL,
    ),
}

WORD_FILTERS = {
    "longer": Clause(
        phrases=(
            "select all the {n} longer than {p} letters",
            "extract the {n} with more than {p} characters",
            "ignore {n} that have at most {p} letters",
        ),
        spellings=("len({v}) > {p}", "{p} < len({v})"),
        apply=lambda x, p: len(x) > p,
        parameters=FEW,
    ),
    "shorter": Clause(
        phrases=(
            "select all the {n} shorter than {p} letters",
            "extract the {n} with fewer than {p} characters",
            "ignore {n} that have at least {p} letters",
        ),
        spellings=("len({v}) < {p}", "{p} > len({v})"),
        apply=lambda x, p: len(x) < p,
        parameters=(4, 5, 6, 7),
    ),
    "starts": Clause(
        phrases=(
            'select all the {n} starting with "{p}"',
            'extract the {n} whose first letter is "{p}"',
            'ignore {n} that do not begin with "{p}"',
        ),
        spellings=('{v}.startswith("{p}")', '{v}[0] == "{p}"', '{v}[:1] == "{p}"'),
        apply=lambda x, p: x.startswith(p),
        parameters=LETTERS,
    ),
    "ends": Clause(
        phrases=(
            'select all the {n} ending with "{p}"',
            'extract the {n} whose last letter is "{p}"',
            'ignore {n} that do not end with "{p}"',
        ),
        spellings=('{v}.endswith("{p}")', '{v}[-1] == "{p}"', '{v}[-1:] == "{p}"'),
        apply=lambda x, p: x.endswith(p),
        parameters=LETTERS,
    ),
    "has": Clause(
        phrases=(
            'select all the {n} containing "{p}"',
            'extract the {n} in which "{p}" occurs',
            'ignore {n} that do not have any "{p}"',
        ),
        spellings=('"{p}" in {v}', '{v}.count("{p}") > 0', '{v}.find("{p}") >= 0'),
        apply=lambda x, p: p in x,
        parameters=LETTERS,
    ),
    "lacks": Clause(
        phrases=(
            'select all the {n} without "{p}"',
            'remove the {n} in which "{p}" appears',
            'ignore {n} that have a "{p}"',
        ),
        spellings=('"{p}" not in {v}', '{v}.count("{p}") == 0', '{v}.find("{p}") < 0'),
        apply=lambda x, p: p not in x,
        parameters=LETTERS,
    ),
}

NUMBER_MAPS = {
    "square": Clause(
        phrases=(
            "replace each {o} with its square",
            "compute the square of each {o}",
            "multiply each {o} by itself",
        ),
        spellings=("{v} * {v}", "{v} ** 2"),
        apply=lambda x, _: x * x,
    ),
    "double": Clause(
        phrases=(
            "replace each {o} with twice its value",
            "compute the double of each {o}",
            "add each {o} to itself",
        ),
        spellings=("{v} + {v}", "2 * {v}"),
        apply=lambda x, _: 2 * x,
    ),
    "negate": Clause(
        phrases=(
            "replace each {o} with its opposite",
            "negate each {o}",
            "flip the sign of each {o}",
        ),
        spellings=("-{v}", "0 - {v}"),
        apply=lambda x, _: -x,
    ),
    "size": Clause(
        phrases=(
            "replace each {o} with its absolute value",
            "remove the sign of each {o}",
            "compute the magnitude of each {o}",
        ),
        spellings=("abs({v})", "max({v}, -{v})"),
        apply=lambda x, _: abs(x),
    ),
    "add": Clause(
        phrases=("add {p} to each {o}", "increment each {o} by {p}", "raise each {o} by {p}"),
        spellings=("{v} + {p}", "{p} + {v}"),
        apply=lambda x, p: x + p,
        parameters=SMALL,
    ),
    "subtract": Clause(
        phrases=("subtract {p} from each {o}", "reduce each {o} by {p}", "lower each {o} by {p}"),
        spellings=("{v} - {p}", "-{p} + {v}"),
        apply=lambda x, p: x - p,
        parameters=SMALL,
    ),
    "scale": Clause(
        phrases=(
            "multiply each {o} by {p}",
            "scale each {o} by {p}",
            "make each {o} {p} times as large",
        ),
        spellings=("{v} * {p}", "{p} * {v}"),
        apply=lambda x, p: x * p,
        parameters=SMALL[1:],
    ),
    "remainder": Clause(
        phrases=(
            "take each {o} modulo {p}",
            "replace each {o} with its remainder by {p}",
            "compute what is left of each {o} after division by {p}",
        ),
        spellings=("{v} % {p}", "divmod({v}, {p})[1]"),
        apply=lambda x, p: x % p,
        parameters=SMALL[1:],
    ),
}

WORD_MAPS = {
    "upper": Clause(
        phrases=(
            "convert each {o} to uppercase",
            "transform each {o} into capital letters",
            "write each {o} in capitals",
        ),
        spellings=("{v}.upper()", "str.upper({v})"),
        apply=lambda x, _: x.upper(),
    ),
    "reverse": Clause(
        phrases=(
            "reverse each {o}",
            "replace each {o} with its mirror image",
            "spell each {o} backwards",
        ),
        spellings=("{v}[::-1]", '"".join(reversed({v}))'),
        apply=lambda x, _: x[::-1],
    ),
    "initial": Clause(
        phrases=(
            "replace each {o} with its first letter",
            "extract the first character of each {o}",
        ),
        spellings=("{v}[0]", "{v}[:1]"),
        apply=lambda x, _: x[0],
    ),
    "final": Clause(
        phrases=("replace each {o} with its last letter", "extract the last character of each {o}"),
        spellings=("{v}[-1]", "{v}[-1:]"),
        apply=lambda x, _: x[-1],
    ),
    "repeat": Clause(
        phrases=("repeat each {o} {p} times", "write each {o} {p} times in a row"),
        spellings=("{v} * {p}", "{p} * {v}"),
        apply=lambda x, p: x * p,
        parameters=FEW,
    ),
    "cut": Clause(
        phrases=("cut each {o} to {p} letters", "extract the first {p} characters of each {o}"),
        spellings=("{v}[:{p}]", "{v}[0:{p}]"),
        apply=lambda x, p: x[:p],
        parameters=FEW,
    ),
    "sorted": Clause(
        phrases=("sort the letters of each {o}", "put the letters of each {o} in order"),
        spellings=('"".join(sorted({v}))', "str().join(sorted({v}))"),
        apply=lambda x, _: "".join(sorted(x)),
    ),
}

ENDS = {
    "plain": Clause(
        phrases=("return a list of the results", "return all the results as a list"),
        spellings=("{v}", "list({v})"),
        apply=lambda a, _: a,
    ),
    "ascending": Clause(
        phrases=("return the results in ascending order", "sort the results from low to high"),
        spellings=("sorted({v})", "sorted({v}, reverse=False)"),
        apply=lambda a, _: sorted(a),
    ),
    "descending": Clause(
        phrases=("return the results in descending order", "sort the results from high to low"),
        spellings=("sorted({v}, reverse=True)", "sorted({v})[::-1]"),
        apply=lambda a, _: sorted(a, reverse=True),
    ),
    "count": Clause(
        phrases=("return the number of results", "count how many results there are"),
        spellings=("len({v})", "sum(1 for _ in {v})"),
        apply=lambda a, _: len(a),
    ),
    "distinct": Clause(
        phrases=(
            "return the number of different results",
            "count how many distinct results there are",
        ),
        spellings=("len(set({v}))", "len(dict.fromkeys({v}))"),
        apply=lambda a, _: len(set(a)),
    ),
    "unique": Clause(
        phrases=("return the distinct results in order", "remove duplicates and sort the results"),
        spellings=("sorted(set({v}))", "sorted(dict.fromkeys({v}))"),
        apply=lambda a, _: sorted(set(a)),
    ),
    "largest": Clause(
        phrases=("return the largest result", "find the maximum of the results"),
        spellings=("max({v}, default=None)", "sorted({v})[-1] if {v} else None"),
        apply=lambda a, _: max(a, default=None),
    ),
    "smallest": Clause(
        phrases=("return the smallest result", "find the minimum of the results"),
        spellings=("min({v}, default=None)", "sorted({v})[0] if {v} else None"),
        apply=lambda a, _: min(a, default=None),
    ),
    "head": Clause(
        phrases=("return the first {p} results", "extract the leading {p} of the results"),
        spellings=("{v}[:{p}]", "{v}[0:{p}]"),
        apply=lambda a, p: a[:p],
        parameters=FEW,
    ),
    "tail": Clause(
        phrases=("return the last {p} results", "extract the trailing {p} of the results"),
        spellings=("{v}[-{p}:]", "{v}[::-1][:{p}][::-1]"),
        apply=lambda a, p: a[-p:],
        parameters=FEW,
    ),
}
NUMBER_ENDS = ENDS | {
    "sum": Clause(
        phrases=("return the sum of the results", "compute the total of the results"),
        spellings=("sum({v})", "sum({v}, 0)"),
        apply=lambda a, _: sum(a),
    ),
}
WORD_ENDS = ENDS | {
    "join": Clause(
        phrases=("return the results joined with dashes", "concatenate the results with dashes"),
        spellings=('"-".join({v})', 'str("-").join({v})'),
        apply=lambda a, _: "-".join(a),
    ),
}
