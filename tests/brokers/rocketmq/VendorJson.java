import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.parser.Feature;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarFile;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.action.RocketMQAction;
import org.apache.rocketmq.common.compression.CompressorFactory;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.remoting.CommandCustomHeader;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.body.RegisterBrokerBody;
import org.apache.rocketmq.remoting.protocol.header.SendMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.SendMessageRequestHeaderV2;

/**
 * What RocketMQ's own classes read from frames.
 *
 * Reads lines of three words: the request's code (an answer does not say it), the simple name of the header class or a
 * dash, the frame in hexadecimal. Answers each with one line of JSON. Where a class is said to be for another request
 * than this one, that is a failure.
 */
public class VendorJson {
    private static final Set<Integer> STORED = Set.of(RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE,
        RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.POP_MESSAGE);
    private static final Set<Integer> STORED_ASKED = Set.of(RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.CONSUME_MESSAGE_DIRECTLY);
    private static final Set<Integer> PAYLOAD = Set.of(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2, RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT);
    private static final Set<Integer> TEXT = Set.of(RequestCode.UPDATE_BROKER_CONFIG, RequestCode.UPDATE_NAMESRV_CONFIG);
    /** Requests whose header is that of another one. */
    private static final Map<Integer, Integer> LENT = Map.of(RequestCode.LITE_PULL_MESSAGE, RequestCode.PULL_MESSAGE,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS);
    private static final int ZLIB = 0x78;
    private static final Map<String, String> CLASSES = new TreeMap<>();

    public static void main(String[] arguments) throws Exception {
        String jar = RemotingCommand.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        try (JarFile classes = new JarFile(new File(jar))) {
            classes.stream().map(each -> each.getName()).filter(name -> name.matches(".*/header/.*Header(V2)?.class")).forEach(name ->
                CLASSES.put(name.substring(name.lastIndexOf('/') + 1, name.length() - 6),
                    name.substring(0, name.length() - 6).replace('/', '.')));
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            JSONObject found = new JSONObject(true);
            try {
                decode(Integer.parseInt(words[0]), words[1], HexFormat.of().parseHex(words[2]), found);
            } catch (Throwable error) {
                found.put("_failed", words[0] + " " + words[1] + " " + error);
            }
            System.out.println(JSON.toJSONString(found, SerializerFeature.WriteMapNullValue,
                SerializerFeature.DisableCircularReferenceDetect, SerializerFeature.WriteNonStringKeyAsString));
        }
    }

    private static void decode(int asked, String header, byte[] frame, JSONObject found) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(frame);
        if (buffer.getInt() != buffer.remaining()) throw new IllegalArgumentException("size");
        RemotingCommand command = RemotingCommand.decode(buffer.slice());
        found.put("_code", command.getCode());
        found.put("_opaque", command.getOpaque());
        found.put("_role", command.isResponseType() ? "response" : command.isOnewayRPC() ? "oneway" : "request");
        found.put("_version", MQVersion.getVersionDesc(command.getVersion()));
        found.put("flag", command.getFlag());
        found.put("language", command.getLanguage().name());
        found.put("version", command.getVersion());
        found.put("serialize", command.getSerializeTypeCurrentRPC().name());
        found.put("remark", command.getRemark());
        Map<String, String> fields = command.getExtFields() == null ? Map.of() : command.getExtFields();
        found.put("extFields", new TreeMap<>(fields));
        JSONObject typed = header.equals("-") ? null : typed(command, asked, header, fields);
        if (typed != null) found.put("header", typed);
        found.put("body", null);
        if (command.getBody() != null && command.getBody().length > 0) body(asked, command, typed, found);
    }

    /** The fields of the class that are on the wire. */
    private static JSONObject typed(RemotingCommand command, int asked, String name, Map<String, String> fields)
            throws Exception {
        Class<? extends CommandCustomHeader> type = Class.forName(CLASSES.get(name)).asSubclass(CommandCustomHeader.class);
        RocketMQAction action = type.getAnnotation(RocketMQAction.class);
        boolean sending = type == SendMessageRequestHeaderV2.class || type == SendMessageRequestHeader.class;
        if (!command.isResponseType() && action != null && !sending && action.value() != LENT.getOrDefault(asked, asked)) {
            throw new IllegalArgumentException("is for " + action.value());
        }
        CommandCustomHeader header = command.decodeCommandCustomHeader(type);
        JSONObject found = new JSONObject(true);
        put(found, header, fields.keySet());
        if (header instanceof SendMessageRequestHeaderV2 letters) {
            // Which letter is which is what the class knows that turns them into names; the last one it calls otherwise.
            Object named = SendMessageRequestHeaderV2.createSendMessageRequestHeaderV1(letters);
            put(found, named, null);
            found.keySet().removeIf(key -> key.length() == 1);
            if (fields.containsKey("n")) found.put("brokerName", ((SendMessageRequestHeader) named).getBrokerName());
        }
        return found;
    }

    /** What an object has in the wanted fields; null: in all of its own class, but in none of those above that. */
    private static void put(JSONObject found, Object from, Set<String> wanted) throws Exception {
        for (Class<?> each = from.getClass(); each != Object.class; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || wanted != null && !wanted.contains(field.getName())) continue;
                field.setAccessible(true);
                if (field.get(from) != null) found.put(field.getName(), field.get(from));
            }
            if (wanted == null) break;
        }
    }

    private static void body(int asked, RemotingCommand command, JSONObject header, JSONObject found) throws Exception {
        byte[] body = command.getBody();
        boolean response = command.isResponseType();
        if (response ? STORED.contains(asked) : STORED_ASKED.contains(asked)) {
            JSONArray messages = new JSONArray();
            for (ByteBuffer left = ByteBuffer.wrap(body); left.hasRemaining(); ) messages.add(stored(left));
            found.put("body", messages(messages));
        } else if (!response && asked == RequestCode.SEND_BATCH_MESSAGE) {
            JSONArray messages = new JSONArray();
            for (Message each : MessageDecoder.decodeMessages(ByteBuffer.wrap(body))) {
                JSONObject one = new JSONObject(true);
                one.put("flag", each.getFlag());
                one.put("properties", each.getProperties());
                one.put("body", hex(each.getBody()));
                messages.add(one);
            }
            found.put("body", messages(messages));
        } else if (!response && PAYLOAD.contains(asked)) {
            found.put("body", hex(body));
            int flag = header.getIntValue("sysFlag");
            if ((flag & MessageSysFlag.COMPRESSED_FLAG) != 0) {
                found.put("bodyUncompressed", hex(CompressorFactory.getCompressor(MessageSysFlag.getCompressionType(flag))
                    .decompress(body)));
            }
        } else if (!response && asked == RequestCode.REGISTER_BROKER && body[0] == ZLIB) {
            found.put("body", registration(body));
        } else if (TEXT.contains(asked)) {
            found.put("body", new String(body, StandardCharsets.UTF_8));
        } else if (body[0] == '{' || body[0] == '[') {
            found.put("body", JSON.parse(new String(body, StandardCharsets.UTF_8), Feature.OrderedField));
        } else {
            found.put("body", hex(body));
        }
    }

    private static JSONObject stored(ByteBuffer left) throws Exception {
        ByteBuffer again = left.duplicate();
        MessageExt message = MessageDecoder.decode(left, true, false);
        if (message == null) throw new IllegalArgumentException("no message at " + again.position());
        JSONObject found = new JSONObject(true);
        found.put("topic", message.getTopic());
        found.put("flag", message.getFlag());
        found.put("queueId", message.getQueueId());
        found.put("queueOffset", message.getQueueOffset());
        found.put("commitLogOffset", message.getCommitLogOffset());
        found.put("bornTimestamp", message.getBornTimestamp());
        found.put("bornHost", host(message.getBornHost()));
        found.put("storeTimestamp", message.getStoreTimestamp());
        found.put("storeHost", host(message.getStoreHost()));
        found.put("sysFlag", message.getSysFlag());
        found.put("bodyCRC", message.getBodyCRC());
        found.put("crcValid", message.getBody() == null || UtilAll.crc32(message.getBody()) == message.getBodyCRC());
        found.put("reconsumeTimes", message.getReconsumeTimes());
        found.put("preparedTransactionOffset", message.getPreparedTransactionOffset());
        found.put("properties", message.getProperties());
        found.put("body", hex(message.getBody() == null ? new byte[0] : message.getBody()));
        if ((message.getSysFlag() & MessageSysFlag.COMPRESSED_FLAG) != 0) {
            found.put("bodyUncompressed", hex(MessageDecoder.decode(again, true, true).getBody()));
        }
        return found;
    }

    private static JSONObject registration(byte[] body) throws Exception {
        RegisterBrokerBody read = RegisterBrokerBody.decode(body, true, MQVersion.value2Version(MQVersion.CURRENT_VERSION));
        JSONObject topics = new JSONObject(true);
        for (TopicConfig each : read.getTopicConfigSerializeWrapper().getTopicConfigTable().values()) {
            JSONObject topic = new JSONObject(true).fluentPut("topicName", each.getTopicName());
            topic.fluentPut("readQueueNums", each.getReadQueueNums()).fluentPut("writeQueueNums", each.getWriteQueueNums());
            topics.put(each.getTopicName(), topic.fluentPut("perm", each.getPerm())
                .fluentPut("topicFilterType", each.getTopicFilterType().name()));
        }
        JSONObject wrapper = new JSONObject(true).fluentPut("topicConfigTable", topics);
        wrapper.put("dataVersion", JSON.parse(read.getTopicConfigSerializeWrapper().getDataVersion().toJson()));
        return new JSONObject(true).fluentPut("topicConfigSerializeWrapper", wrapper)
            .fluentPut("filterServerList", read.getFilterServerList());
    }

    private static JSONObject messages(JSONArray messages) {
        return new JSONObject().fluentPut("messages", messages);
    }

    private static String host(SocketAddress address) {
        InetSocketAddress at = (InetSocketAddress) address;
        return at.getAddress().getHostAddress() + ":" + at.getPort();
    }

    private static JSONObject hex(byte[] bytes) {
        return new JSONObject(true).fluentPut("hex", HexFormat.of().formatHex(bytes)).fluentPut("length", bytes.length);
    }
}
