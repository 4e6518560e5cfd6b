"""Test Java programs behind the wall."""

import pytest

from memoprobe.sandbox import Limits, java, run, run_all
from memoprobe.workers import Pool
from tests.walled import CALLS, needs_java, needs_wall, program

pytestmark = [needs_wall, needs_java]

SUM = "int sum = 0; for (int x : xs) sum += x;"


def method(body):
    return (
        "import java.io.*;\nimport java.util.*;\npublic class Total {\n"
        f"    public static int total(int[] xs) throws Exception {{ {body} }}\n}}\n"
    )


SLEEPER = "new Thread(() -> { try { Thread.sleep(9000); } catch (Exception e) {} }).start();"
# Name: the body of the function, and the verdicts that say what it did.
PROGRAMS = {
    "right": (f"{SUM} return sum;", {"passed"}),
    "wrong": ("return xs.length;", {"failed"}),
    "raises": ('throw new IllegalStateException("no");', {"error"}),
    "does not compile": ("return 1", {"error"}),
    "loops": ("while (true) {}", {"timeout"}),
    "memory": (
        "var l = new ArrayList<long[]>(); while (true) l.add(new long[1 << 20]);",
        {"memory"},
    ),
    "threads": (f"for (int i = 0; i < 999; i++) {SLEEPER} return 6;", {"error", "memory"}),
    "exit": ("System.exit(0); return 6;", {"incomplete"}),
    "halt": ("Runtime.getRuntime().halt(0); return 6;", {"incomplete"}),
    "exec": (
        'new ProcessBuilder("/bin/sh", "-c", "kill -9 -1").start().waitFor(); return 6;',
        {"crashed", "blocked", "failed"},
    ),
    "socket": ('new java.net.Socket("127.0.0.1", 9); return 6;', {"blocked"}),
    "flood": (
        'for (int i = 0; i < 99; i++) System.out.println("x".repeat(1 << 16)); return 6;',
        {"output-limit"},
    ),
    "forged output": (
        'for (String p : new String[] {"/proc/self/fd/1", "/proc/self/fd/2"})'
        " try (OutputStream o = new FileOutputStream(p, true)) {"
        ' o.write("\\n[\\"value\\", 0, 6]\\nOK passed\\n".getBytes()); }'
        ' System.out.println("passed"); return -1;',
        {"failed", "blocked"},
    ),
    "home": (
        'try { new FileWriter(System.getProperty("user.home") + "/.bashrc", true).close();'
        f' new FileWriter("/root/.bashrc", true).close(); }} catch (IOException e) {{}} {SUM}'
        " return sum;",
        {"passed"},
    ),
    "empties its records": (
        'new RandomAccessFile("/proc/self/fd/1", "rw").setLength(0);'
        " Runtime.getRuntime().halt(0); return 6;",
        {"incomplete"},
    ),
    "claims to lack a library": (
        'var field = Class.forName("Driver").getDeclaredField("secret");'
        " field.setAccessible(true);"
        ' String line = "\\n" + field.get(null)'
        ' + " [\\"unloaded\\", \\"unsupported\\", \\"\\"]\\n";'
        " new FileOutputStream(FileDescriptor.out).write(line.getBytes());"
        " Runtime.getRuntime().halt(0); return 6;",
        {"error"},
    ),
    "stack": ("return total(xs);", {"error", "crashed"}),
}


@pytest.fixture(scope="module")
def verdicts():
    """Run every program once."""
    limits = Limits(wall_s=3.0)
    programs = [
        program(method(body), CALLS, language="java", limits=limits)
        for body, _ in PROGRAMS.values()
    ]
    return dict(zip(PROGRAMS, run_all(programs, pool=Pool(jobs=2)), strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_gets_the_verdict_of_what_it_does(verdicts, name):
    """Java's ways to misbehave lead where Python's do."""
    assert verdicts[name].kind in PROGRAMS[name][1]
    assert verdicts[name].mode == "calls"


def test_arguments_and_answers_are_of_many_types():
    """Parameters say what a JSON value becomes; an object is the list of its fields."""
    code = """
package some.where;
import java.util.*;
class Types {
    static class Pair { private final int a; private final double b; static int n = 3;
        Pair(int a, double b) { this.a = a; this.b = b; } }
    static Object all(int i, long l, double d, float f, short h, byte y, boolean t, char c,
            String s, int[][] m, List<Integer> list, Set<String> set, Map<String, List<Long>> map,
            Object any, List<Double>[] lists) {
        long sum = list.get(0) + map.get("k").get(0);
        return Arrays.asList(i, l, d, f, h, y, t, c, s, m, list, set, map, any,
            new Pair(1, .5), sum, null, lists[0].get(0), "é\\"\\n\\\\");
    }
}
"""
    args = [
        1,
        2,
        3,
        0.5,
        4,
        5,
        True,
        "c",
        'é"\\\n\t',
        [[1], []],
        [7],
        ["z"],
        {"k": [8]},
        [None, 1.5],
    ]
    echoed = [1, 2, 3.0, 0.5, 4, 5, True, "c", 'é"\\\n\t', [[1], []], [7], ["z"], {"k": [8]}]
    expected = [*echoed, [None, 1.5], [1, 0.5], 15, None, 2.0, 'é"\n\\']
    cases = [{"args": [*args, [[2]]], "expected": expected}]
    tests = {"kind": "calls", "cases": cases}
    verdict = run(program(code, tests, language="java", entry_point="all"))

    assert verdict.kind == "passed", verdict.detail


def test_methods_of_objects_are_called_and_a_text_may_be_json():
    """A class with a plain constructor is made; names may differ in case."""
    code = 'class Solution { public String ToText(int n) { return "[" + n + ", 1]"; } }'
    tests = {"kind": "calls", "cases": [{"args": [4], "expected": [4, 1]}]}
    found = run(program(code, tests, language="java", entry_point="toText"))
    missing = run(program(code, tests, language="java", entry_point="other"))

    assert (found.kind, missing.kind) == ("passed", "error")


ECHO = """
import java.util.*;
class Helper {}
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(in.nextInt() * 2);
    }
}
"""


def test_programs_are_run_from_input_to_output():
    """Each case has a machine of its own."""
    cases = [{"stdin": "4\n", "stdout": "8\n"}, {"stdin": "x", "stdout": "0"}]
    verdict = run(program(ECHO, {"kind": "stdio", "cases": cases}, language="java"))

    assert (verdict.kind, verdict.mode, verdict.n_passed) == ("failed", "stdio", 1)


JUNIT = """
import static org.junit.Assert.*;
import org.junit.*;
import helpers.Box;
public class TotalTest {
    @Test(timeout = 1000) public void adds() {
        assertEquals((int) 6, Total.total(new int[] {1, 2, 3}));
    }
    @Test public void texts() { assertEquals("6", String.valueOf(Total.total(new Box().xs))); }
    @Test(expected = NullPointerException.class) public void fails() { Total.total(null); }
    @Test public void all() {
        assertEquals(1.0, 1.01, 0.1); assertEquals("same", 1, 1);
        assertTrue(true); assertFalse(false);
        assertNull(null); assertNotNull(1); assertArrayEquals(new int[] {1}, new int[] {1});
        assertArrayEquals(new String[] {"a"}, new String[] {"a"});
    }
    @Ignore @Test public void ignored() { fail("not run"); }
}
"""
BOX = "package helpers; public class Box { public int[] xs = {1, 2, 3}; }"


@pytest.mark.parametrize(
    ("body", "kind", "n_passed"),
    [(f"{SUM} return sum;", "passed", 4), ("return xs.length;", "failed", 2)],
)
def test_junit_tests_run_beside_the_program(body, kind, n_passed):
    """They use what the benchmarks use of JUnit; the verdict says that it can be forged."""
    code = method(body).replace(" throws Exception", "")
    tests = {"kind": "junit", "files": {"TotalTest.java": JUNIT, "Box.java": BOX}}
    verdict = run(program(code, tests, language="java"))

    assert (verdict.kind, verdict.mode, verdict.n_passed) == (kind, "shared", n_passed)


def test_tests_of_other_kinds_are_not_for_java():
    """The verdict says so, and that a JDK is missing where it is."""
    verdict = run(program(method("return 1;"), {"kind": "check", "test": ""}, language="java"))

    assert (verdict.kind, verdict.n_tests) == ("unsupported", 0)


def test_without_a_jdk_java_is_unsupported(monkeypatch):
    """What is missing is named."""
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    verdict = run(program(method("return 1;"), CALLS, language="java"))

    assert (verdict.kind, verdict.detail) == ("unsupported", "there is no java here; install a JDK")


def test_a_compiler_that_is_kept_busy_is_replaced(monkeypatch):
    """A program that is not compiled in time is in error, and the next one has a new compiler."""
    monkeypatch.setattr(java, "_COMPILE_S", 0.0)
    late = run(program(method("return 1;"), CALLS, language="java"))
    monkeypatch.undo()
    after = run(program(method(PROGRAMS["right"][0]), CALLS, language="java"))

    assert (late.kind, late.detail) == ("error", "it does not compile: it is not compiled in time")
    assert after.kind == "passed"
