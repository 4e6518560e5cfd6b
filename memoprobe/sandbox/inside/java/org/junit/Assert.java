package org.junit;

import java.util.Arrays;
import java.util.Objects;

/** Holds what the benchmarks' tests use of JUnit 4. */
public class Assert {
    public static void assertEquals(Object expected, Object actual) {
        assertTrue("expected " + expected + ", got " + actual, Objects.equals(expected, actual));
    }

    public static void assertEquals(long expected, long actual) {
        assertEquals((Object) expected, (Object) actual);
    }

    public static void assertEquals(double expected, double actual, double delta) {
        boolean near = Math.abs(expected - actual) <= delta || expected == actual;
        assertTrue("expected " + expected + ", got " + actual, near);
    }

    public static void assertEquals(String message, Object expected, Object actual) {
        assertTrue(message, Objects.equals(expected, actual));
    }

    public static void assertArrayEquals(Object[] expected, Object[] actual) {
        assertTrue("arrays differ", Arrays.deepEquals(expected, actual));
    }

    public static void assertArrayEquals(int[] expected, int[] actual) {
        assertTrue("arrays differ", Arrays.equals(expected, actual));
    }

    public static void assertTrue(boolean condition) {
        assertTrue("expected true", condition);
    }

    public static void assertTrue(String message, boolean condition) {
        if (!condition) {
            fail(message);
        }
    }

    public static void assertFalse(boolean condition) {
        assertTrue("expected false", !condition);
    }

    public static void assertNull(Object value) {
        assertTrue("expected null, got " + value, value == null);
    }

    public static void assertNotNull(Object value) {
        assertTrue("expected no null", value != null);
    }

    public static void fail(String message) {
        throw new AssertionError(message);
    }
}
