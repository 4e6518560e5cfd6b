"""Facts about selecting answers that are not Python: other fences, classes, bodies and tails."""

import re

import pytest

from memoprobe.answers import extract
from memoprobe.records import TEXT_SLOT, Sample, Variant

# One function per language, as its answer's code should be, and a use of it.
CODE = {
    "java": "public static int gcd(int a, int b) {\n    return b == 0 ? a : gcd(b, a % b);\n}",
    "c": "int gcd(int a, int b)\n{\n    return b == 0 ? a : gcd(b, a % b);\n}",
    "cpp": "template <typename T>\nT gcd(T a, T b) {\n    return b == 0 ? a : gcd(b, a % b);\n}",
    "javascript": "const gcd = (a, b) => {\n  return b === 0 ? a : gcd(b, a % b);\n};",
    "php": "function gcd($a, $b)\n{\n    return $b == 0 ? $a : gcd($b, $a % $b);\n}",
    "go": "func gcd(a, b int) int {\n    if b == 0 {\n        return a\n    }\n"
    "    return gcd(b, a%b)\n}",
    "ruby": "def gcd(a, b)\n  return a if b == 0\n\n  gcd(b, a % b)\nend",
    "csharp": "public static int Gcd(int a, int b) => b == 0 ? a : Gcd(b, a % b);",
}
USAGE = {
    "java": "System.out.println(gcd(35, 21));",
    "c": "int main(void) {\n    return gcd(35, 21);\n}",
    "cpp": "int main() {\n    std::cout << gcd(35, 21);\n}",
    "javascript": "console.log(gcd(35, 21));\nmodule.exports = { gcd };",
    "php": "echo gcd(35, 21);",
    "go": "func main() {\n    fmt.Println(gcd(35, 21))\n}",
    "ruby": "puts gcd(35, 21)",
    "csharp": "Console.WriteLine(Gcd(35, 21));",
}
TAGS = {
    "java": "Java",
    "c": "c h",
    "cpp": "cpp c++ C++ cc hpp",
    "javascript": "javascript js jsx JS node",
    "php": "php PHP phtml",
    "go": "go golang Go",
    "ruby": "ruby rb",
    "csharp": "csharp cs c# C#",
}
each_language = pytest.mark.parametrize("language", CODE)


def name(language):
    return "Gcd" if language == "csharp" else "gcd"


def sample(language, **fields):
    named = {"benchmark": "b", "sample_id": "s", "language": language, "text": "Divide."}
    kind = {"task": "code_generation", "input_kind": "prose", "entry_point": name(language)}
    return Sample(**named | kind | fields)


def answer(text, asked, interface="chat", **names):
    place = {"benchmark": "b", "sample_id": "s", "perturbation": "p", "level": 1}
    variant = Variant(**place, text=asked.text, distance=0.5, edit_share=0.5, rename_map=names)
    return extract(text, asked, variant, interface=interface)


def broken(code):
    """Return a draft: the same function with an error in it."""
    return code.replace("% b", "% % b").replace("%b", "% %b")


@pytest.mark.parametrize(
    ("language", "tag"), [(language, tag) for language in TAGS for tag in TAGS[language].split()]
)
def test_a_block_in_the_language_counts_by_all_its_names(language, tag):
    """The tag tells a block of the language from others, when no function is asked for."""
    text = f"```{tag}\n{CODE[language]}\n```\nRun:\n```bash\nmake\n```\nGives:\n```text\n7\n```"

    assert answer(text, sample(language, entry_point=None)) == (CODE[language], "last_fenced")


@each_language
@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ("```\n{draft}\n```\nNo:\n```{tag}\n{code}\n```\nUse:\n```\n{use}\n```", "fenced"),
        ("Here (it's short):\n```{tag}\n{code}\n\n{use}\n```", "fenced"),
        ("Here:\n\n```{tag}\n{code}", "unclosed"),
        ("{code}\n```\n\nIt works, isn't it?", "opened"),
        ("{code}", "bare"),
        ("Here's gcd (see below):\n\n{code}\n\nIt isn't hard; call gcd(4, 2).", "bare"),
    ],
    ids=["the last that defines it", "its use goes", "unclosed", "opened", "bare", "prose around"],
)  # fmt: skip
def test_selection(language, form, rule):
    """The rules are those of Python: the block that defines the function, then bare code."""
    code, use, tag = CODE[language], USAGE[language], TAGS[language].split()[0]
    text = form.format(code=code, draft=broken(code), use=use, tag=tag)

    assert answer(text, sample(language)) == (code, rule)


@each_language
def test_an_answer_that_was_cut_off_is_kept_as_it_is(language):
    """Half a function in a fence that never ends is the answer, and is not mended."""
    code = CODE[language][:-9].rstrip()

    assert answer(f"Sure:\n```\n{code}", sample(language)) == (code, "unclosed")


CLASSES = {
    "java": "import java.util.*;\n\npublic class Solution {\n    {code}\n}",
    "cpp": "class Solution {\npublic:\n    {code}\n};",
    "csharp": "using System;\n\npublic class Solution\n{\n    {code}\n}",
    "php": "<?php\n\nclass Solution\n{\n    private {code}\n}",
    "javascript": "export class Solution {\n  gcd(a, b) {\n    return a;\n  }\n}",
    "ruby": "class Solution\n  {code}\nend",
}
MORE = {
    "java": "class Main {\n    static void main(String[] a) {\n        Solution.gcd();\n    }\n}",
    "cpp": "int main() {\n    Solution().gcd(1, 2);\n}",
    "csharp": "class Program\n{\n    static void Main() => Solution.Gcd(1, 2);\n}",
    "php": "$solution = new Solution();\necho $solution->gcd(1, 2);",
    "javascript": "const solution = new Solution();\nsolution.gcd(1, 2);",
    "ruby": "Solution.new.gcd(1, 2)",
}


@pytest.mark.parametrize("language", CLASSES)
@pytest.mark.parametrize("form", ["```\n{}\n\n{}\n```", "Here:\n\n{}\n\nUse it so:\n\n{}\n"])
def test_a_class_around_the_function_stays_and_its_use_goes(language, form):
    """A class that holds the function is the answer, as it is; what only uses it is not."""
    inner = CODE[language].replace("\n", "\n    ").replace("template <typename T>\n    ", "")
    code = CLASSES[language].replace("{code}", inner)

    found = answer(form.format(code, MORE[language]), sample(language))
    assert found.code.split() == code.split()
    assert found.rule == ("fenced" if "`" in form else "bare")


def test_a_class_in_python_counts_too():
    """LeetCode's class holds the method under test, and a run of it is left out."""
    code = "class Solution:\n    def gcd(self, a, b):\n        return a"

    assert answer(f"```\n{code}\n\nprint(Solution().gcd(1, 2))\n```", sample("python")).code == code


@each_language
def test_helpers_that_are_used_stay(language):
    """After the function a definition stays if the answer uses it."""
    code = CODE[language].replace("a % b", "rest(a, b)").replace("a%b", "rest(a, b)")
    code = code.replace("$a % $b", "rest($a, $b)")
    helper, other = (CODE[language].replace(name(language), other) for other in ("rest", "unused"))

    found = answer(f"```\n{code}\n\n{other}\n\n{helper}\n```", sample(language))
    assert found.code.replace("\n\n", "\n") == f"{code}\n{helper}".replace("\n\n", "\n")


GIVEN = {
    "java": "import java.util.List;\n\nstatic int zero() {\n    return 0;\n}",
    "c": "#include <stdio.h>\n\nstruct pair {\n    int a, b;\n};",
    "cpp": "#include <vector>\nusing namespace std;\n\nclass Pair {\n};",
    "javascript": "const fs = require('fs');\n\nfunction zero() {\n  return 0;\n}",
    "php": "<?php\nuse A\\B;\n\nfunction zero() {\n    return 0;\n}",
    "go": 'package main\n\nimport "fmt"\n\nfunc zero() int {\n    return 0\n}',
    "ruby": "require 'set'\n\ndef zero\n  0\nend",
    "csharp": "using System;\n\nstatic int Zero() => 0;",
}


@each_language
def test_what_the_prompt_gives_is_not_the_answers(language):
    """Imports, types and helpers that the prompt holds are dropped where they are repeated."""
    asked = sample(language, context=f"{GIVEN[language]}\n\n// {TEXT_SLOT}\n")
    text = f"```\n{GIVEN[language]}\n\n{CODE[language]}\n```"

    assert answer(text, asked).code == CODE[language]


OPEN = {
    "java": ("class Solution {\n    public int gcd(int a, int b) {", "        return a;\n    }\n}"),
    "c": ("int gcd(int a, int b)\n{", "    return a;\n}"),
    "cpp": (
        "class Solution {\npublic:\n    int gcd(int a, int b) {",
        "        return a;\n    }\n};",
    ),
    "javascript": ("var gcd = function(a, b) {", "    return a;\n};"),
    "php": ("function gcd($a, $b) {", "    return $a;\n}"),
    "go": ("func gcd(a int, b int) int {", "    return a\n}"),
    "ruby": ("def gcd(a, b)", "  a\nend"),
    "csharp": ("public int Gcd(int a, int b)\n{", "    return a;\n}"),
}


@each_language
@pytest.mark.parametrize("interface", ["chat", "completions"])
def test_a_body_gets_the_head_that_the_prompt_left_open(language, interface):
    """What continues the prompt is put after its head, and what follows it goes."""
    head, body = OPEN[language]
    asked = sample(language, context=f"{TEXT_SLOT}\n\n{head}\n")
    text = f"```\n{body}\n```" if interface == "chat" else f"{body}\n\n{USAGE[language]}\n"

    code, rule = answer(text, asked, interface)

    assert code == f"{asked.whole(asked.text)}{body}".strip()
    assert rule == ("continued_last_fenced" if interface == "chat" else "continued")


def test_a_function_that_is_closed_gets_no_body():
    """A body is not put after a function that the prompt shows whole."""
    asked = sample("c", context=f"{TEXT_SLOT}\n\nint gcd(int a, int b) {{ return 0; }}\n")

    assert answer("    return a;\n}", asked).rule == "whole"


@each_language
def test_a_repair_that_repeats_the_prompt_is_told_from_the_fix(language):
    """The prompt's own code, in whatever layout and with comments, is not the repair."""
    code, bug = CODE[language], CODE[language].replace("== 0", "== 1")
    asked = sample(language, task="program_repair", input_kind="code", text=bug)
    mark = "#" if language in {"ruby", "php"} else "//"
    shown = bug.replace("\n", f"  {mark} the bug\n").replace("  ", "    ")

    found = answer(f"```\n{code}\n```\nIt was:\n```\n{shown}\n```", asked)
    assert found == (code, "unechoed_fenced")


@each_language
def test_names_are_mapped_back(language):
    """The variant's new names become the original ones, in code and not in text."""
    code, mark = CODE[language], "#" if language in {"ruby", "php"} else "//"
    renamed = re.sub(r"\ba\b", "zork", code)

    found = answer(f"```\n{mark} zork\n{renamed}\n```", sample(language), a="zork")
    assert found.code == f"{mark} zork\n{code}"
