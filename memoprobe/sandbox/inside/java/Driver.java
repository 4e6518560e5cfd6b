import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Calls the program under test and answers with JSON, or runs its main method. */
class Driver {
    private static final int DEEPEST = 200;
    private static OutputStream records;
    private static String secret;

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("main")) {
            runMain(arguments);
            return;
        }
        String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        Map<?, ?> job = (Map<?, ?>) new Json(text).read();
        records = new FileOutputStream(FileDescriptor.out);
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err)));
        System.setIn(new FileInputStream("/dev/null"));
        secret = (String) job.get("secret");
        if (job.containsKey("end")) {
            runTests((List<?>) job.get("classes"), (String) job.get("end"));
        } else {
            answer(job);
        }
        Runtime.getRuntime().halt(0);
    }

    private static void record(Object... parts) throws IOException {
        String line = "\n" + secret + " " + write(List.of(parts), 0) + "\n";
        records.write(line.getBytes(StandardCharsets.UTF_8));
    }

    private static void answer(Map<?, ?> job) throws Exception {
        List<?> calls = (List<?>) job.get("calls");
        for (int number = 0; number < calls.size(); number++) {
            Object result;
            try {
                result = call((List<?>) job.get("classes"), (String) job.get("name"), (List<?>) calls.get(number));
            } catch (Throwable failure) {
                record("raised", number, kind(failure), String.valueOf(failure));
                continue;
            }
            String json = result == null ? "null" : write(result, 0);
            String line = "\n" + secret + " [\"value\"," + number + "," + json + "]\n";
            records.write(line.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static String kind(Throwable failure) {
        String words = String.valueOf(failure);
        if (failure instanceof OutOfMemoryError) {
            return words.contains("native thread") ? "error" : "memory";
        }
        boolean blocked =
                failure instanceof java.net.SocketException
                        || failure instanceof java.net.UnknownHostException
                        || failure instanceof java.nio.file.AccessDeniedException
                        || words.contains("Permission denied")
                        || words.contains("Read-only file system");
        return blocked ? "blocked" : "error";
    }

    private static Object call(List<?> classes, String name, List<?> given) throws Throwable {
        for (boolean exact : new boolean[] {true, false}) {
            for (Object each : classes) {
                Class<?> owner = Class.forName((String) each);
                for (Method method : owner.getDeclaredMethods()) {
                    String found = method.getName();
                    boolean named = exact ? found.equals(name) : found.equalsIgnoreCase(name);
                    if (!named || method.getParameterCount() != given.size() || method.isBridge()) {
                        continue;
                    }
                    return invoke(method, arguments(method, given));
                }
            }
        }
        throw new NoSuchMethodException(name + " with " + given.size() + " parameters");
    }

    private static Object[] arguments(Method method, List<?> given) {
        Type[] types = method.getGenericParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            arguments[i] = convert(given.get(i), types[i]);
        }
        return arguments;
    }

    private static Object invoke(Method method, Object[] arguments) throws Throwable {
        method.setAccessible(true);
        Object target = null;
        if (!Modifier.isStatic(method.getModifiers())) {
            Constructor<?> maker = method.getDeclaringClass().getDeclaredConstructor();
            maker.setAccessible(true);
            target = maker.newInstance();
        }
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    /** Returns a JSON value as the type that a parameter asks for. */
    private static Object convert(Object value, Type type) {
        if (type instanceof GenericArrayType) {
            type = Array.newInstance(raw(((GenericArrayType) type).getGenericComponentType()), 0).getClass();
        }
        Class<?> wanted = raw(type);
        if (value == null || wanted == boolean.class || wanted == Boolean.class) {
            return value;
        }
        if (value instanceof Number) {
            return number((Number) value, wanted);
        }
        if (value instanceof String) {
            boolean isChar = wanted == char.class || wanted == Character.class;
            return isChar ? (Object) ((String) value).charAt(0) : value;
        }
        if (wanted.isArray()) {
            List<?> items = (List<?>) value;
            Object array = Array.newInstance(wanted.getComponentType(), items.size());
            for (int i = 0; i < items.size(); i++) {
                Array.set(array, i, convert(items.get(i), wanted.getComponentType()));
            }
            return array;
        }
        return collection(value, type, wanted);
    }

    private static Object collection(Object value, Type type, Class<?> wanted) {
        if (value instanceof Map) {
            Map<Object, Object> map = new LinkedHashMap<>();
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                map.put(convert(each.getKey(), part(type, 0)), convert(each.getValue(), part(type, 1)));
            }
            return map;
        }
        Collection<Object> items = Set.class.isAssignableFrom(wanted) ? new HashSet<>() : new ArrayList<>();
        for (Object each : (List<?>) value) {
            items.add(convert(each, part(type, 0)));
        }
        return items;
    }

    private static Type part(Type type, int number) {
        boolean known = type instanceof ParameterizedType;
        return known ? ((ParameterizedType) type).getActualTypeArguments()[number] : Object.class;
    }

    private static Class<?> raw(Type type) {
        if (type instanceof ParameterizedType) {
            return (Class<?>) ((ParameterizedType) type).getRawType();
        }
        return type instanceof Class ? (Class<?>) type : Object.class;
    }

    private static Object number(Number value, Class<?> wanted) {
        if (wanted == double.class || wanted == Double.class) {
            return value.doubleValue();
        }
        if (wanted == float.class || wanted == Float.class) {
            return value.floatValue();
        }
        if (wanted == long.class || wanted == Long.class) {
            return value.longValue();
        }
        if (wanted == short.class || wanted == Short.class) {
            return value.shortValue();
        }
        if (wanted == byte.class || wanted == Byte.class) {
            return value.byteValue();
        }
        if (wanted == String.class) {
            return value.toString();
        }
        boolean isWhole = value instanceof Long && value.longValue() == value.intValue();
        return isWhole ? (Object) value.intValue() : value;
    }

    /** Returns JSON; of an object of the program, a list of its fields. */
    private static String write(Object value, int depth) throws IOException {
        if (depth > DEEPEST) {
            throw new IOException("too deep");
        }
        if (value == null || value instanceof Boolean || value instanceof Number) {
            return plain(String.valueOf(value));
        }
        if (value instanceof CharSequence || value instanceof Character) {
            return Json.quote(value.toString());
        }
        List<String> parts = new ArrayList<>();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                parts.add(Json.quote(String.valueOf(each.getKey())) + ":" + write(each.getValue(), depth + 1));
            }
            return "{" + String.join(",", parts) + "}";
        }
        for (Object each : parts(value)) {
            parts.add(write(each, depth + 1));
        }
        return "[" + String.join(",", parts) + "]";
    }

    private static String plain(String number) {
        return number.equals("NaN") || number.endsWith("Infinity") ? number : number.toLowerCase();
    }

    private static Iterable<?> parts(Object value) throws IOException {
        if (value instanceof Iterable) {
            return (Iterable<?>) value;
        }
        List<Object> parts = new ArrayList<>();
        if (value.getClass().isArray()) {
            for (int i = 0; i < Array.getLength(value); i++) {
                parts.add(Array.get(value, i));
            }
            return parts;
        }
        try {
            for (Field field : value.getClass().getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
                    field.setAccessible(true);
                    parts.add(field.get(value));
                }
            }
        } catch (ReflectiveOperationException | RuntimeException failure) {
            throw new IOException("an object of " + value.getClass().getName());
        }
        return parts;
    }

    private static void runTests(List<?> classes, String end) throws Exception {
        for (Object each : classes) {
            for (Method method : Class.forName((String) each).getDeclaredMethods()) {
                org.junit.Test test = method.getAnnotation(org.junit.Test.class);
                if (test == null || method.isAnnotationPresent(org.junit.Ignore.class)) {
                    continue;
                }
                try {
                    invoke(method, new Object[0]);
                    record("test", "passed", "");
                } catch (Throwable failure) {
                    boolean met = test.expected().isInstance(failure);
                    String found = failure instanceof AssertionError ? "failed" : kind(failure);
                    record("test", met ? "passed" : found, String.valueOf(failure));
                }
            }
        }
        record("end", end);
    }

    private static void runMain(String[] classes) throws Exception {
        for (int i = 1; i < classes.length; i++) {
            try {
                Method method = Class.forName(classes[i]).getDeclaredMethod("main", String[].class);
                method.setAccessible(true);
                method.invoke(null, (Object) new String[0]);
                return;
            } catch (NoSuchMethodException none) {
                continue;
            }
        }
        throw new NoSuchMethodException("main");
    }
}
