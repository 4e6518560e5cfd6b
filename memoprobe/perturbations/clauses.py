r"""Hold the notation of the rewording rules, and those that move or wrap parts of a sentence.

A rule is ``pattern => template | template``; an indented line continues the one before, without
a space where it does not begin with ``=>`` or ``|``. A pattern is a regular expression without
regard to case, a space in it any white space, a name in angle brackets a class below, ``<after
a/b>`` what the word before must be and ``<not after a/b>`` what it must not be. Its groups are
kept and stand as ``{0}``, ``{1}`` in the templates. An underscore in a template is a space at its
edge; the template ``-`` leaves the site alone, so that some texts take another rule. Each rule
keeps the meaning for whoever must write the program, and no template holds a quotation mark, a
backslash or a number.
"""

LEAVE = "-"

# A class may use those below it.
CLASSES = {
    "claim": r"(?:<act>\b|<self> <modal>\b)",
    "definite": (
        r"(?:<quantity>|list of|decimal part|string representation|decoded|encoded|sorted|first"
        r"|common elements|item with|element|sequences of)\b"
    ),
    "noun": (
        r"(?:[\w-]+\s)?(?:list|lists|array|arrays|string|strings|number|numbers|integer|integers"
        r"|tuple|tuples|dictionary|dictionaries|matrix|word|words|value|values|character|element"
        r"|elements|set|range|key|position|point|sequence|text|sentence|input|pattern|item"
        r"|substring|threshold|moment|prefix)"
    ),
    "things": (
        r"(?:elements|items|entries|numbers|values|words|keys|digits|characters|letters|integers"
        r"|vowels|tuples|strings)\b"
    ),
    "thing": (
        r"(?:element|character|word|string|row|sublist|tuple|digit|value|list|key|level|cell"
        r"|integer|item|number|letter)"
    ),
    "act": (
        r"(?:return|find|check|count|calculate|compute|sort|create|write|get|remove|add|convert"
        r"|determine|replace|reverse|output|print|round|make|implement|ignore|generate|concatenate)"
    ),
    "quantity": (
        r"(?:sum|number of|area|volume|surface area|maximum|minimum|largest|smallest|length"
        r"|product|average|mean|gcd|lcm|greatest common divisor|median|perimeter|difference"
        r"|count of|frequency|ratio|square root|n[-\u2019]?th|total|factorial|square"
        r"|cumulative sum|standard deviation|derivative|absolute|decimal part)"
    ),
    "result": r"return\b(?:(?!\b(?:if|whether|when)\b)[^,;:])*?",
    "alone": (  # a condition that takes nothing along and leans on nothing
        r"(?![^,]*\b(?:otherwise|else|other cases|if|and return|it|its|they|them|their)\b)"
    ),
    "plain": (  # a main clause that can stand in front
        r"(?![^.]*\b(?:it|its|they|them|their|those|these|otherwise|else|if|when|unless|such"
        r"|instead|then|each|same|respectively)\b)"
    ),
    "no clause": r"(?!.{0,60}\b(?:that|which|divisible|less)\b)",
    "no question": (
        "<not after check/determine/see/tell/test/verify/detect/know/find/and/only/even/as"
        "/evaluate>"
    ),
    "check": "<after check/checks/determine/determines/see/test/tests/verify/detect/evaluate/find>",
    "end": r"(?=\.?$)",
    "means": (
        r"(?:an?|the|regex|lambda|map|list|recursion|collections|heap|dynamic|built|only|counting"
        r"|\w+ sort)\b"
    ),
    "modal": r"(?:should|must|will|shall|has to|needs to)",
    "name": r"(?=[a-zA-Z]\b(?![.]\w|['\u2019)(]|\s(?:list|string|number)))(?!a\s(?!and\b))",
    "quality": (
        r"(?:not|at|greater|less|divisible|present|missing|formed|made|longer|in|between|strings"
        r"|prime|odd|even|close)\b"
    ),
    "self": r"(?:the|this|your) function",
    "state": (
        r"(?:be|have|return|only|contain|appear|start|consist|sort|keep|always|give|look|output"
        r"|take)\b"
    ),
    "subject": (
        r"(?:the|there|there's|this|they|he|she|an?|any|all|both|every|two|no|it|its|multiple"
        r"|[a-z]|you|several|more|such)"
    ),
    "write": r"(?:write|create|implement|develop|define)",
}

# Clauses that change places; they need a sentence whose end is sure.
CLAUSES = r"""
^if ((?![^,]*\b(?:otherwise|else)\b)[^,;:?]+), (?:then )?(<plain><claim>[^,;:]*?)<end>
    => {1} if {0} | {1} whenever {0}
^(<result>) if (<alone>[^,;:?]+?)<end> => if {1}, {0}
^(<self> <modal> <result>) if (<alone>[^,;:?]+?)<end> => if {1}, {0}
^given ([^,;:]+), (<plain><act>\b[^,;:]*?)<end> => {1}, given {0}
^for (an? given [^,;:]+), (<plain><act>\b[^,;:]*?)<end> => {1} for {0}
^(<write> an? (?:python )?function) to ((?![^.]*\bif\b)\w[^,;:]*?)<end>
    => to {1}, {0} | in order to {1}, {0} | - | -
"""

# What a sentence can end with; the sentence itself stays as it is.
ENDINGS = r"""
^(return (?!.*\b(?:if|when|where|otherwise|case|denoting|representing|from|how|as|order)\b)
    (?!.*\b(?:result|so|such|that|which|whose)\b)[^,;:?.]+?)<end>
    => {0} as the result | {0} as its result
^((?:the function should )?checks? (?:if|whether) (?!.*\b(?:or|not|and|that|which)\b)
    [^,;:?.]+?)<end> => {0} or not
^(filter [^,;:?.]+?)<end> => {0} and return what remains | {0} and return what is left
^((?:concatenate|insert|change) [^,;:?.]+?)<end>
    => {0} and return the result | {0} and give back the result
^(add [^,;:?.]+?)<end> => {0} and return the sum | {0} and return the total
"""

# What stands in front of a sentence's verb.
OPENINGS = r"""
^(<write>\s)(?=(?:an?|the|python|function)\b) => your task is to {0} | please {0} | you need to {0}
    | you have to {0} | your job is to {0} | the task is to {0} | you are asked to {0}
(?:^|(?<=,\s))(return\s)(?!value|type|statement) => the function should {0} | the function must {0}
    | this function should {0} | the function has to {0}
^(returns\s) => the function {0} | this function {0}
^((?:check|filter|sort|concatenate|insert|test|change|flip|evaluate
    |append|convert|reverse|get|perform|add|create)\s)(?!is|of|are|an? function)
    => the function should {0} | this function should {0} | the function has to {0}
    | your function should {0}
(?:^|(?<=,\s))((?:find|count|compute|calculate|determine|flip|remove|output|generate)\s)
    (?!is|of|are|how|and)
    => the function should {0} | this function should {0} | the function has to {0}
    | your function should {0}
^((?:input|valid choices) (?:is|are|to) ) => the {0}
^((?:evaluates|checks|finds|counts|computes|calculates|takes|converts)\s) => the function {0}
    | this function {0}
^((?:note that|ignore|assume|round|keep|consider|remember)\s) => please {0}
"""
