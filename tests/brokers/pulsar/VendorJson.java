package org.apache.pulsar.common.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HexFormat;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.api.proto.BrokerEntryMetadata;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;

/**
 * What Pulsar's own classes read from frames, as its client and its broker read them.
 *
 * Reads lines of hexadecimal, each a whole frame, and answers each with one line of JSON: the command's own fields,
 * and beside them what stands behind it. The classes do not say how the proto spells a name, only where its words end.
 */
public class VendorJson {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final String NUMBER = "_FIELD_NUMBER";

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            ObjectNode found = NODES.objectNode();
            try {
                decode(Unpooled.wrappedBuffer(HexFormat.of().parseHex(line)), found);
            } catch (Exception error) {
                found.put("_failed", error.toString());
            }
            System.out.println(found);
        }
    }

    private static void decode(ByteBuf frame, ObjectNode found) throws Exception {
        if (frame.readInt() != frame.readableBytes()) throw new IllegalArgumentException("size");
        BaseCommand command = new BaseCommand();
        command.parseFrom(frame, frame.readInt());
        String type = command.getType().name();
        for (Field field : BaseCommand.class.getDeclaredFields()) {
            String name = name(field);
            if (name == null || name.equals("TYPE") || !(boolean) call(command, "has" + camel(name))) continue;
            found.setAll((ObjectNode) message(call(command, "get" + camel(name))));
        }
        found.put("_operation", type);
        found.put("_code", command.getType().getValue());
        if (frame.isReadable() && (type.equals("SEND") || type.equals("MESSAGE"))) entry(frame, found);
        found.put("_left", frame.readableBytes());
    }

    /** What is behind the command of a SEND or a MESSAGE, up to the end. */
    private static void entry(ByteBuf frame, ObjectNode found) throws Exception {
        BrokerEntryMetadata stamped = Commands.parseBrokerEntryMetadataIfExist(frame);
        if (stamped != null) found.set("broker_entry_metadata", message(stamped));
        if (Commands.hasChecksum(frame)) {
            int stored = Commands.readChecksum(frame);
            ObjectNode checksum = found.putObject("checksum");
            checksum.put("value", Integer.toUnsignedLong(stored));
            checksum.put("valid", stored == Crc32cIntChecksum.computeChecksum(frame));
        }
        MessageMetadata metadata = Commands.parseMessageMetadata(frame);
        found.set("metadata", message(metadata));
        boolean encrypted = metadata.getEncryptionKeysCount() > 0;
        boolean chunk = metadata.hasChunkId() && metadata.getNumChunksFromMsg() > 1;
        if (encrypted) found.put("encrypted", true);
        if (chunk) {
            ObjectNode part = found.putObject("chunk");
            part.put("uuid", metadata.getUuid());
            part.put("id", metadata.getChunkId());
            part.put("total", metadata.getNumChunksFromMsg());
        }
        ByteBuf payload = frame.readSlice(frame.readableBytes());
        if (encrypted || chunk) {
            found.set("payload", hex(ByteBufUtil.getBytes(payload)));
            return;
        }
        payload = CompressionCodecProvider.getCompressionCodec(metadata.getCompression())
            .decode(payload, metadata.getUncompressedSize());
        if (!metadata.hasNumMessagesInBatch()) {
            found.set("payload", hex(ByteBufUtil.getBytes(payload)));
            return;
        }
        ArrayNode messages = found.putObject("payload").putArray("messages");
        int count = metadata.getNumMessagesInBatch();
        for (int index = 0; index < count; index++) {
            SingleMessageMetadata single = new SingleMessageMetadata();
            ByteBuf content = Commands.deSerializeSingleMessageInBatch(payload, single, index, count);
            ObjectNode each = messages.addObject();
            each.set("metadata", message(single));
            each.set("payload", hex(ByteBufUtil.getBytes(content)));
        }
        if (payload.isReadable()) throw new IllegalStateException(payload.readableBytes() + " bytes behind a batch");
    }

    /** The fields of a message of the proto that are there. */
    private static JsonNode message(Object message) throws Exception {
        ObjectNode found = NODES.objectNode();
        for (Field field : message.getClass().getDeclaredFields()) {
            String name = name(field);
            if (name == null) continue;
            Method has = method(message, "has" + camel(name));
            if (has == null) {
                repeated(message, camel(name), found, name);
            } else if ((boolean) has.invoke(message)) {
                Method flag = method(message, "is" + camel(name));
                found.set(name, value(flag != null ? flag.invoke(message) : call(message, "get" + camel(name))));
            }
        }
        return found;
    }

    private static JsonNode value(Object value) throws Exception {
        if (value instanceof String text) return NODES.textNode(text);
        if (value instanceof Boolean flag) return NODES.booleanNode(flag);
        if (value instanceof Long number) return NODES.numberNode(number);
        if (value instanceof Integer number) return NODES.numberNode(number);
        if (value instanceof byte[] bytes) return hex(bytes);
        if (value instanceof Enum<?> constant) return NODES.textNode(constant.name());
        return message(value);
    }

    /** What a field is called, from the constant that has its number; null if this is no such constant. */
    private static String name(Field field) {
        String name = field.getName();
        return name.endsWith(NUMBER) ? name.substring(1, name.length() - NUMBER.length()) : null;
    }

    private static String camel(String name) {
        StringBuilder found = new StringBuilder();
        for (String word : name.toLowerCase().split("_")) {
            if (!word.isEmpty()) found.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
        }
        return found.toString();
    }

    /** A list, left out if it is empty: its count has the plural, one of it the singular, each in its own way. */
    private static void repeated(Object message, String name, ObjectNode found, String key) throws Exception {
        String several = method(message, "get" + name + "Count") != null ? name : name + "s";
        int count = (int) call(message, "get" + several + "Count");
        if (count == 0) return;
        String one = several.endsWith("ies")
            ? several.substring(0, several.length() - 3) + "y" : several.substring(0, several.length() - 1);
        Method at = message.getClass().getMethod("get" + one + "At", int.class);
        ArrayNode list = found.putArray(key);
        for (int index = 0; index < count; index++) list.add(value(at.invoke(message, index)));
    }

    private static Method method(Object object, String name) {
        try {
            return object.getClass().getMethod(name);
        } catch (NoSuchMethodException missing) {
            return null;
        }
    }

    private static Object call(Object object, String name) throws Exception {
        try {
            return object.getClass().getMethod(name).invoke(object);
        } catch (InvocationTargetException thrown) {
            throw (Exception) thrown.getCause();
        }
    }

    private static JsonNode hex(byte[] bytes) {
        return NODES.objectNode().put("hex", HexFormat.of().formatHex(bytes)).put("length", bytes.length);
    }
}
