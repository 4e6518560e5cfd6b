import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON that the caller wrote, and quotes text. */
class Json {
    private final String text;
    private int place = 0;

    Json(String text) {
        this.text = text;
    }

    /** Returns the value at this place: Map, List, String, Long, Double, Boolean or null. */
    Object read() {
        skip();
        char first = text.charAt(place);
        if (first == '"') {
            return string();
        }
        if (first == '[') {
            List<Object> items = new ArrayList<>();
            for (place++; !ends(']'); ) {
                items.add(read());
            }
            return items;
        }
        if (first == '{') {
            Map<String, Object> map = new LinkedHashMap<>();
            for (place++; !ends('}'); ) {
                skip();
                String key = string();
                skip();
                place++;
                map.put(key, read());
            }
            return map;
        }
        return word();
    }

    private Object word() {
        int start = place;
        while (place < text.length() && ",]} \n".indexOf(text.charAt(place)) < 0) {
            place++;
        }
        String word = text.substring(start, place);
        switch (word) {
            case "null":
                return null;
            case "true":
            case "false":
                return word.equals("true");
            default:
                boolean isWhole = word.matches("-?\\d{1,18}");
                return isWhole ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
        }
    }

    private void skip() {
        while (" \n,".indexOf(text.charAt(place)) >= 0) {
            place++;
        }
    }

    private boolean ends(char last) {
        skip();
        if (text.charAt(place) != last) {
            return false;
        }
        place++;
        return true;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (place++; text.charAt(place) != '"'; place++) {
            char each = text.charAt(place);
            if (each != '\\') {
                found.append(each);
                continue;
            }
            each = text.charAt(++place);
            if (each == 'u') {
                found.append((char) Integer.parseInt(text.substring(place + 1, place + 5), 16));
                place += 4;
            } else {
                int known = "bfnrt".indexOf(each);
                found.append(known < 0 ? each : "\b\f\n\r\t".charAt(known));
            }
        }
        place++;
        return found.toString();
    }

    /** Returns text as a JSON string of ASCII alone. */
    static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\' || each < ' ' || each > '~') {
                quoted.append(String.format("\\u%04x", (int) each));
            } else {
                quoted.append(each);
            }
        }
        return quoted.append('"').toString();
    }
}
