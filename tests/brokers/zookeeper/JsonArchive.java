package org.apache.jute;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

/**
 * What ZooKeeper's records write of themselves, as JSON: their own names of fields, bytes as {"hex", "length"}.
 *
 * Lists are raw ones, for so they are in old releases. An object is open from the start; `flat` puts a record's fields into it, all other methods one named value.
 */
public class JsonArchive implements OutputArchive {
    /** What is open: an object, a list, a list of [name, value] pairs, a list that is null, a record that is flat. */
    private enum Kind { OBJECT, LIST, PAIRS, NOTHING, FLAT }

    private final StringBuilder out = new StringBuilder();
    private final Deque<Kind> open = new ArrayDeque<>();
    private boolean first = true;
    private boolean flat;

    public JsonArchive() {
        out.append('{');
        open.push(Kind.OBJECT);
    }

    /** The whole object, which is then closed. */
    public String done() {
        return out.append('}').toString();
    }

    public void flat(Record record) throws java.io.IOException {
        flat = true;
        record.serialize(this, "");
    }

    /** A value that is JSON already. */
    public void writeJson(String json, String name) {
        value(name, json);
    }

    /** From here to `endPairs`, values that may repeat their names. */
    public void startPairs(String name) {
        begin(name);
        opened(Kind.PAIRS, '[');
    }

    public void endPairs() {
        closed(']');
        end();
    }

    private void begin(String name) {
        if (!first) out.append(',');
        first = false;
        switch (open.peek()) {
            case OBJECT, FLAT -> out.append(quoted(name)).append(':');
            case PAIRS -> out.append('[').append(quoted(name)).append(',');
            default -> { }
        }
    }

    private void end() {
        if (open.peek() == Kind.PAIRS) out.append(']');
    }

    private void opened(Kind kind, char mark) {
        out.append(mark);
        open.push(kind);
        first = true;
    }

    private void closed(char mark) {
        open.pop();
        out.append(mark);
        first = false;
    }

    private void value(String name, String json) {
        begin(name);
        out.append(json);
        end();
    }

    private static String quoted(String text) {
        StringBuilder found = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each >= ' ' && each < 127 && each != '"' && each != '\\') found.append(each);
            else found.append(String.format("\\u%04x", (int) each));
        }
        return found.append('"').toString();
    }

    @Override public void writeByte(byte value, String name) { value(name, Byte.toString(value)); }
    @Override public void writeBool(boolean value, String name) { value(name, Boolean.toString(value)); }
    @Override public void writeInt(int value, String name) { value(name, Integer.toString(value)); }
    @Override public void writeLong(long value, String name) { value(name, Long.toString(value)); }
    @Override public void writeFloat(float value, String name) { value(name, Float.toString(value)); }
    @Override public void writeDouble(double value, String name) { value(name, Double.toString(value)); }

    @Override public void writeString(String value, String name) {
        value(name, value == null ? "null" : quoted(value));
    }

    @Override public void writeBuffer(byte[] value, String name) {
        String hex = value == null ? null : HexFormat.of().formatHex(value);
        value(name, hex == null ? "null" : "{\"hex\":\"" + hex + "\",\"length\":" + value.length + "}");
    }

    @Override public void writeRecord(Record value, String name) throws java.io.IOException {
        if (value == null) value(name, "null");
        else value.serialize(this, name);
    }

    @Override public void startRecord(Record record, String name) {
        if (flat) {
            flat = false;
            open.push(Kind.FLAT);
        } else {
            begin(name);
            opened(Kind.OBJECT, '{');
        }
    }

    @Override public void endRecord(Record record, String name) {
        if (open.peek() == Kind.FLAT) {
            open.pop();
        } else {
            closed('}');
            end();
        }
    }

    @Override public void startVector(List value, String name) {
        begin(name);
        if (value == null) {
            out.append("null");
            open.push(Kind.NOTHING);
        } else {
            opened(Kind.LIST, '[');
        }
    }

    @Override public void endVector(List value, String name) {
        if (open.peek() == Kind.NOTHING) open.pop();
        else closed(']');
        end();
    }

    @Override public void startMap(TreeMap value, String name) {
        throw new UnsupportedOperationException("no record of ZooKeeper has a map");
    }

    @Override public void endMap(TreeMap value, String name) {
        throw new UnsupportedOperationException("no record of ZooKeeper has a map");
    }

    /** Of newer releases' interface. */
    public long getDataSize() {
        return out.length();
    }
}
