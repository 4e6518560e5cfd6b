import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles one set of sources after the other; nothing of them runs here. */
class Compiler {
    private static final List<String> OPTIONS = List.of("-proc:none", "-nowarn", "-Xlint:none");

    public static void main(String[] arguments) throws IOException {
        DataInputStream requests = new DataInputStream(new FileInputStream(FileDescriptor.in));
        DataOutputStream replies = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err)));
        while (true) {
            List<JavaFileObject> sources = new ArrayList<>();
            try {
                for (int left = requests.readInt(); left > 0; left--) {
                    byte[] text = new byte[requests.readInt()];
                    requests.readFully(text);
                    sources.add(new Source(left, new String(text, StandardCharsets.UTF_8)));
                }
            } catch (EOFException end) {
                return;
            }
            byte[] reply = compile(sources);
            replies.writeInt(reply.length);
            replies.write(reply);
            replies.flush();
        }
    }

    /** Returns the number of classes and their names and bytes, or -1 and what javac says. */
    private static byte[] compile(List<JavaFileObject> sources) throws IOException {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream reply = new DataOutputStream(bytes);
        StringWriter words = new StringWriter();
        try (Memory memory = new Memory(javac.getStandardFileManager(null, null, null))) {
            if (javac.getTask(words, memory, null, OPTIONS, null, sources).call()) {
                reply.writeInt(memory.classes.size());
                for (Map.Entry<String, ByteArrayOutputStream> each : memory.classes.entrySet()) {
                    reply.writeUTF(each.getKey());
                    reply.writeInt(each.getValue().size());
                    each.getValue().writeTo(reply);
                }
                return bytes.toByteArray();
            }
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError failure) {
            words.write("javac ended with " + failure);
        }
        bytes.reset();
        reply.writeInt(-1);
        reply.write(words.toString().getBytes(StandardCharsets.UTF_8));
        return bytes.toByteArray();
    }

    /** Holds a source, whatever the name of its public class. */
    private static class Source extends SimpleJavaFileObject {
        private final String text;

        Source(int number, String text) {
            super(URI.create("string:///Source" + number + ".java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            return kind == Kind.SOURCE;
        }
    }

    /** Keeps classes in memory. */
    private static class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        final Map<String, ByteArrayOutputStream> classes = new LinkedHashMap<>();

        Memory(JavaFileManager standard) {
            super(standard);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            classes.put(name, content);
            return new SimpleJavaFileObject(URI.create("class:///" + name.replace('.', '/')), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return content;
                }
            };
        }
    }
}
