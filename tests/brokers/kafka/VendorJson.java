import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;

/**
 * What Kafka's own classes read from messages.
 *
 * Reads lines "request|response API VERSION HEX" (without the length prefix) and answers each with one line of JSON:
 * what the generated JsonConverter of that message writes, bytes as {"hex", "length"}, records as a list of batches.
 */
public class VendorJson {
    static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] parts = line.split(" ");
            boolean request = parts[0].equals("request");
            short version = Short.parseShort(parts[2]);
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(parts[3]));
            System.out.println(decoded(request, Short.parseShort(parts[1]), version, bytes));
        }
    }

    static JsonNode decoded(boolean request, short api, short version, ByteBuffer bytes) throws Exception {
        ApiMessageType type = ApiMessageType.fromApiKey(api);
        ByteBufferAccessor in = new ByteBufferAccessor(bytes);
        if (request) {
            new RequestHeaderData(in, type.requestHeaderVersion(version));
        } else {
            new ResponseHeaderData(in, type.responseHeaderVersion(version));
            // A broker that does not know the version that was asked for answers in the oldest layout (error 35).
            if (type == ApiMessageType.API_VERSIONS && bytes.getShort(bytes.position()) == 35) version = 0;
        }
        ApiMessage message = request ? type.newRequest() : type.newResponse();
        message.read(in, version);
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        JsonNode json = (JsonNode) converter.getMethod("write", message.getClass(), short.class, boolean.class)
            .invoke(null, message, version, false);
        Deque<JsonNode> records = new ArrayDeque<>();
        collectRecords(message, records);
        ObjectNode whole = (ObjectNode) rewritten(json, records);
        if (!records.isEmpty()) throw new IllegalStateException("records left over in " + message.getClass());
        whole.put("_left", in.remaining());
        return whole;
    }

    /** The same with bytes as hexadecimal, and with records where the converter writes only their size. */
    static JsonNode rewritten(JsonNode node, Deque<JsonNode> records) throws Exception {
        if (node.isBinary()) return hex(node.binaryValue());
        if (node.isArray()) {
            ArrayNode found = NODES.arrayNode();
            for (JsonNode each : node) found.add(rewritten(each, records));
            return found;
        }
        if (!node.isObject()) return node;
        ObjectNode found = NODES.objectNode();
        for (Iterator<Map.Entry<String, JsonNode>> each = node.fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            String name = entry.getKey();
            if (name.endsWith("SizeInBytes")) {
                found.set(name.substring(0, name.length() - "SizeInBytes".length()), records.remove());
            } else {
                found.set(name, rewritten(entry.getValue(), records));
            }
        }
        return found;
    }

    /** All record sets of a message, in the order of its layout, which is that of the fields of generated classes. */
    static void collectRecords(Object value, Deque<JsonNode> into) throws Exception {
        if (value instanceof Iterable<?> several) {
            for (Object each : several) collectRecords(each, into);
        } else if (value instanceof Message) {
            for (Field field : value.getClass().getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) continue;
                field.setAccessible(true);
                Object inner = field.get(value);
                if (field.getType().getSimpleName().equals("BaseRecords")) {
                    into.add(inner == null ? NODES.nullNode() : batches((MemoryRecords) inner));
                } else if (inner instanceof Message || inner instanceof Iterable) {
                    collectRecords(inner, into);
                }
            }
        }
    }

    static JsonNode batches(MemoryRecords records) {
        ArrayNode found = NODES.arrayNode();
        for (MutableRecordBatch each : records.batches()) found.add(batch(each));
        int cut = records.sizeInBytes() - records.validBytes();
        if (cut > 0) found.add(NODES.objectNode().put("partial", true).put("length", cut));
        return found;
    }

    static JsonNode batch(MutableRecordBatch batch) {
        ObjectNode found = NODES.objectNode();
        found.put("baseOffset", batch.baseOffset()).put("length", batch.sizeInBytes() - 12);
        found.put("partitionLeaderEpoch", batch.partitionLeaderEpoch()).put("magic", batch.magic());
        found.put("crc", batch.checksum()).put("crcValid", batch.isValid());
        found.put("compression", batch.compressionType().name).put("timestampType", batch.timestampType().name);
        found.put("transactional", batch.isTransactional()).put("control", batch.isControlBatch());
        found.put("deleteHorizon", batch.deleteHorizonMs().isPresent());
        found.put("lastOffsetDelta", batch.lastOffset() - batch.baseOffset()).put("maxTimestamp", batch.maxTimestamp());
        found.put("producerId", batch.producerId()).put("producerEpoch", batch.producerEpoch());
        found.put("baseSequence", batch.baseSequence()).put("count", batch.countOrNull());
        ArrayNode records = found.putArray("records");
        for (Record each : batch) {
            ObjectNode record = records.addObject();
            record.put("offset", each.offset()).put("timestamp", each.timestamp());
            record.set("key", hex(each.key()));
            record.set("value", hex(each.value()));
            ArrayNode headers = record.putArray("headers");
            for (Header header : each.headers()) {
                byte[] value = header.value();
                headers.addObject().put("key", header.key()).set("value", value == null ? NODES.nullNode() : hex(value));
            }
        }
        return found;
    }

    static JsonNode hex(ByteBuffer bytes) {
        if (bytes == null) return NODES.nullNode();
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return hex(copy);
    }

    static JsonNode hex(byte[] bytes) {
        return NODES.objectNode().put("hex", HexFormat.of().formatHex(bytes)).put("length", bytes.length);
    }
}
