package org.apache.zookeeper.server.quorum;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.JsonArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.Watcher.Event;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.proto.MultiHeader;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.util.SerializeUtils;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.Txn;
import org.apache.zookeeper.txn.TxnHeader;

/**
 * What ZooKeeper's own classes read from the messages of its three ports.
 *
 * Reads lines "KIND ARGUMENT HEX" (without the length prefix) and answers each with one line of JSON. Classes that
 * not every release has are looked up by their names.
 */
public class VendorJson {
    private static final String PROTO = "org.apache.zookeeper.proto.", TXN = "org.apache.zookeeper.txn.";
    private static final Map<Integer, String> OPERATIONS = names(ZooDefs.OpCode.class);
    private static final Map<Integer, String> PACKETS = names(Leader.class);

    /** By operation: what is asked, what is answered, what is proposed; "-" is nothing. */
    private static final Map<String, String[]> RECORDS = records("""
        create CreateRequest CreateResponse CreateTxn
        delete DeleteRequest - DeleteTxn
        exists ExistsRequest ExistsResponse -
        getData GetDataRequest GetDataResponse -
        setData SetDataRequest SetDataResponse SetDataTxn
        getACL GetACLRequest GetACLResponse -
        setACL SetACLRequest SetACLResponse SetACLTxn
        getChildren GetChildrenRequest GetChildrenResponse -
        sync SyncRequest SyncResponse -
        ping - - -
        getChildren2 GetChildren2Request GetChildren2Response -
        check CheckVersionRequest - CheckVersionTxn
        create2 CreateRequest Create2Response CreateTxn
        reconfig ReconfigRequest GetDataResponse SetDataTxn
        checkWatches CheckWatchesRequest - -
        removeWatches RemoveWatchesRequest - -
        createContainer CreateRequest Create2Response CreateContainerTxn
        deleteContainer DeleteContainerRequest - DeleteTxn
        createTTL CreateTTLRequest Create2Response CreateTTLTxn
        auth AuthPacket - -
        setWatches SetWatches - -
        sasl GetSASLRequest SetSASLResponse -
        getEphemerals GetEphemeralsRequest GetEphemeralsResponse -
        getAllChildrenNumber GetAllChildrenNumberRequest GetAllChildrenNumberResponse -
        setWatches2 SetWatches2 - -
        addWatch AddWatchRequest ErrorResponse -
        whoAmI - WhoAmIResponse -
        createSession CreateSessionTxn - CreateSessionTxn
        closeSession - - CloseSessionTxn
        error - ErrorResponse ErrorTxn
        """);

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] parts = line.split(" ", 3);
            byte[] bytes = HexFormat.of().parseHex(parts[2]);
            try {
                System.out.println(decoded(parts[0], parts[1], bytes));
            } catch (Exception error) {
                JsonArchive json = new JsonArchive();
                json.writeString(parts[0] + " " + parts[1] + ": " + error, "_failed");
                System.out.println(json.done());
            }
        }
    }

    private static String decoded(String kind, String argument, byte[] bytes) throws Exception {
        ByteArrayInputStream stream = new ByteArrayInputStream(bytes);
        BinaryInputArchive in = BinaryInputArchive.getArchive(stream);
        JsonArchive json = new JsonArchive();
        switch (kind) {
            case "connect" -> connect(argument, in, stream, json);
            case "request" -> request(in, json);
            case "reply" -> reply(Integer.parseInt(argument), in, json);
            case "packet" -> packet(argument.equals("c"), in, json);
            case "snapshot" -> snapshot(in, json);
            case "authentication" -> json.flat(read(new QuorumAuthPacket(), in));
            case "initial" -> initial(stream, json);
            case "notification" -> notification(argument, bytes, stream, json);
            default -> throw new IllegalArgumentException(kind);
        }
        json.writeInt(stream.available(), "_left");
        return json.done();
    }

    // The client's port.

    private static void connect(String side, BinaryInputArchive in, ByteArrayInputStream stream, JsonArchive json)
            throws Exception {
        json.flat(read(record(PROTO + (side.equals("c") ? "ConnectRequest" : "ConnectResponse")), in));
        // Not in the records of old releases, whose servers read and write it beside them.
        if (stream.available() == 1) json.writeBool(in.readBool("readOnly"), "readOnly");
    }

    private static void request(BinaryInputArchive in, JsonArchive json) throws Exception {
        json.writeInt(in.readInt("xid"), "_xid");
        int code = in.readInt("type");
        json.writeInt(code, "_code");
        json.writeString(OPERATIONS.get(code), "_operation");
        body(OPERATIONS.get(code), true, in, json);
    }

    private static void reply(int code, BinaryInputArchive in, JsonArchive json) throws Exception {
        int xid = in.readInt("xid");
        json.writeInt(xid, "_xid");
        json.writeLong(in.readLong("zxid"), "zxid");
        int err = in.readInt("err");
        if (xid == -1) {
            Record event = read(record(PROTO + "WatcherEvent"), in);
            json.writeString(Event.EventType.fromInt(number(event, "getType")).name(), "type");
            json.writeString(Event.KeeperState.fromInt(number(event, "getState")).name(), "state");
            json.writeString((String) event.getClass().getMethod("getPath").invoke(event), "path");
            return;
        }
        json.writeInt(err, "err");
        String operation = OPERATIONS.get(code);
        // The one answer that has something behind an error.
        if (err == 0 || operation.equals("sasl")) body(operation, false, in, json);
    }

    private static int number(Record record, String getter) throws Exception {
        return (Integer) record.getClass().getMethod(getter).invoke(record);
    }

    private static void body(String operation, boolean asked, BinaryInputArchive in, JsonArchive json)
            throws Exception {
        if (operation.equals("multi") || operation.equals("multiRead")) {
            multi(asked, in, json);
            return;
        }
        String name = RECORDS.get(operation)[asked ? 0 : 1];
        if (!name.equals("-")) json.flat(read(record(of(name)), in));
    }

    private static String of(String name) {
        return (name.endsWith("Txn") ? TXN : PROTO) + name;
    }

    private static void multi(boolean asked, BinaryInputArchive in, JsonArchive json) throws Exception {
        json.startVector(List.of(), "operations");
        for (MultiHeader header = read(new MultiHeader(), in); !header.getDone(); header = read(new MultiHeader(), in)) {
            String operation = OPERATIONS.get(header.getType());
            String name = RECORDS.get(operation)[asked ? 0 : 1];
            Record record = name.equals("-") ? null : read(record(of(name)), in);
            json.startRecord(null, "operation");
            json.writeString(operation, "type");
            json.writeInt(header.getErr(), "err");
            // The code of an error stands there twice.
            if (record != null && !operation.equals("error")) json.flat(record);
            json.endRecord(null, "operation");
        }
        json.endVector(List.of(), "operations");
    }

    // The quorum's port.

    private static void packet(boolean fromLearner, BinaryInputArchive in, JsonArchive json) throws Exception {
        QuorumPacket packet = read(new QuorumPacket(), in);
        String name = PACKETS.get(packet.getType());
        json.writeInt(packet.getType(), "_code");
        json.writeString(name, "type");
        json.writeLong(packet.getZxid(), "zxid");
        byte[] data = packet.getData();
        if (data == null || data.length == 0) {
            json.writeBuffer(data, "data");
        } else {
            json.startRecord(null, "data");
            json.writeString(HexFormat.of().formatHex(data), "hex");
            json.writeInt(data.length, "length");
            if (data(name, fromLearner, data, json)) json.endRecord(null, "value");
            json.endRecord(null, "data");
        }
        List<?> identities = packet.getAuthinfo();
        json.startVector(identities, "authinfo");
        if (identities != null) for (Object each : identities) json.writeRecord((Record) each, "id");
        json.endVector(identities, "authinfo");
    }

    /** Opens and fills `value`; whether there is one. */
    private static boolean data(String packet, boolean fromLearner, byte[] data, JsonArchive json) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(data);
        switch (packet) {
            case "FOLLOWERINFO", "OBSERVERINFO" -> json.writeString("LearnerInfo", "as");
            case "LEADERINFO", "ACKEPOCH", "NEWLEADER", "PROPOSAL", "INFORM", "INFORMANDACTIVATE", "COMMITANDACTIVATE",
                "REQUEST", "PING", "REVALIDATE" -> { }
            default -> {
                return false;
            }
        }
        json.startRecord(null, "value");
        switch (packet) {
            case "FOLLOWERINFO", "OBSERVERINFO" -> json.flat(read(new LearnerInfo(), archive(data)));
            case "LEADERINFO" -> json.writeInt(bytes.getInt(), "protocolVersion");
            case "ACKEPOCH" -> json.writeInt(bytes.getInt(), "epoch");
            case "NEWLEADER" -> json.writeString(new String(data, StandardCharsets.UTF_8), "config");
            case "COMMITANDACTIVATE" -> json.writeLong(bytes.getLong(), "designatedLeader");
            case "PROPOSAL", "INFORM" -> transaction(data, json);
            case "INFORMANDACTIVATE" -> {
                json.writeLong(bytes.getLong(), "designatedLeader");
                byte[] rest = new byte[bytes.remaining()];
                bytes.get(rest);
                transaction(rest, json);
            }
            case "REQUEST" -> forwarded(archive(data), json);
            case "PING" -> {
                json.startVector(List.of(), "sessions");
                while (bytes.hasRemaining()) {
                    json.startRecord(null, "session");
                    json.writeLong(bytes.getLong(), "sessionId");
                    json.writeInt(bytes.getInt(), "timeout");
                    json.endRecord(null, "session");
                }
                json.endVector(List.of(), "sessions");
            }
            default -> {
                json.writeLong(bytes.getLong(), "sessionId");
                if (fromLearner) json.writeInt(bytes.getInt(), "timeout");
                else json.writeBool(bytes.get() != 0, "valid");
            }
        }
        return true;
    }

    private static void forwarded(BinaryInputArchive in, JsonArchive json) throws Exception {
        json.writeLong(in.readLong("sessionId"), "sessionId");
        json.writeInt(in.readInt("cxid"), "cxid");
        int code = in.readInt("opcode");
        json.writeInt(code, "opcode");
        json.startRecord(null, "request");
        body(OPERATIONS.get(code), true, in, json);
        json.endRecord(null, "request");
    }

    private static void transaction(byte[] data, JsonArchive json) throws Exception {
        TxnHeader header = new TxnHeader();
        Record txn, digest = null;
        Method method = null;
        for (Method each : SerializeUtils.class.getMethods()) if (each.getName().equals("deserializeTxn")) method = each;
        if (method.getParameterCount() == 2) {
            txn = (Record) invoked(method, null, data, header);
        } else {
            Object entry = invoked(method, null, (Object) data);
            header = (TxnHeader) entry.getClass().getMethod("getHeader").invoke(entry);
            txn = (Record) entry.getClass().getMethod("getTxn").invoke(entry);
            digest = (Record) entry.getClass().getMethod("getDigest").invoke(entry);
        }
        json.writeRecord(header, "header");
        if (txn instanceof MultiTxn several) multiple(several, json);
        else json.writeRecord(txn, "txn");
        if (digest != null) json.writeRecord(digest, "digest");
    }

    private static void multiple(MultiTxn several, JsonArchive json) throws Exception {
        json.startRecord(null, "txn");
        json.startVector(List.of(), "txns");
        for (Txn each : several.getTxns()) {
            String name = RECORDS.get(OPERATIONS.get(each.getType()))[2];
            json.startRecord(null, "txn");
            json.writeInt(each.getType(), "type");
            json.startRecord(null, "data");
            json.writeString(HexFormat.of().formatHex(each.getData()), "hex");
            json.writeInt(each.getData().length, "length");
            json.writeString(name, "as");
            json.writeRecord(read(record(TXN + name), archive(each.getData())), "value");
            json.endRecord(null, "data");
            json.endRecord(null, "txn");
        }
        json.endVector(List.of(), "txns");
        json.endRecord(null, "txn");
    }

    /** The tree as the class that holds it reads it, and then writes it again: as pairs, for its names repeat. */
    private static void snapshot(BinaryInputArchive in, JsonArchive json) throws Exception {
        DataTree tree = new DataTree();
        Map<Long, Integer> sessions = new TreeMap<>();
        SerializeUtils.deserializeSnapshot(tree, in, sessions);
        json.startVector(List.of(), "sessions");
        for (Map.Entry<Long, Integer> each : sessions.entrySet()) {
            json.startRecord(null, "session");
            json.writeLong(each.getKey(), "id");
            json.writeInt(each.getValue(), "timeout");
            json.endRecord(null, "session");
        }
        json.endVector(List.of(), "sessions");
        json.startPairs("_tree");
        tree.serialize(json, "tree");
        json.endPairs();
        json.writeString(in.readString("signature"), "signature");
    }

    // The election's port.

    private static void initial(ByteArrayInputStream stream, JsonArchive json) throws Exception {
        DataInputStream in = new DataInputStream(stream);
        long number = in.readLong();
        if (number >= 0) {
            json.writeLong(number, "sid");
            return;
        }
        Class<?> type = Class.forName(QuorumCnxManager.class.getName() + "$InitialMessage");
        Object message = invoked(type.getMethod("parse", Long.class, DataInputStream.class), null, number, in);
        StringBuilder addresses = new StringBuilder();
        for (Object each : (List<?>) type.getField("electionAddr").get(message)) {
            InetSocketAddress address = (InetSocketAddress) each;
            addresses.append(addresses.isEmpty() ? "" : "|").append(address.getHostString()).append(":");
            addresses.append(address.getPort());
        }
        json.writeLong(number, "protocolVersion");
        json.writeLong((Long) type.getField("sid").get(message), "sid");
        json.writeString(addresses.toString(), "addr");
    }

    /** There is no class that reads one alone: what was read is written again, and must be the same bytes. */
    private static void notification(String fields, byte[] bytes, ByteArrayInputStream stream, JsonArchive json)
            throws Exception {
        String[] parts = fields.split(",", 6);
        Class<?>[] types = {int.class, long.class, long.class, long.class, long.class, byte[].class};
        Object[] values = new Object[6];
        values[0] = Integer.parseInt(parts[0]);
        for (int index = 1; index < 5; index++) values[index] = Long.parseLong(parts[index]);
        values[5] = HexFormat.of().parseHex(parts[5]);
        ByteBuffer written = null;
        for (int count = 6; written == null; count--) {
            try {
                Class<?>[] taken = java.util.Arrays.copyOf(types, count);
                Method method = FastLeaderElection.class.getDeclaredMethod("buildMsg", taken);
                written = (ByteBuffer) invoked(method, null, java.util.Arrays.copyOf(values, count));
            } catch (NoSuchMethodException older) {
                continue;
            }
        }
        json.writeBool(java.util.Arrays.equals(written.array(), bytes), "_same");
        json.writeInt(written.getInt(36), "version");
        stream.skip(bytes.length);
    }

    // What all have in common.

    private static BinaryInputArchive archive(byte[] bytes) {
        return BinaryInputArchive.getArchive(new ByteArrayInputStream(bytes));
    }

    private static <R extends Record> R read(R record, BinaryInputArchive in) throws IOException {
        record.deserialize(in, "record");
        return record;
    }

    private static Record record(String name) throws ReflectiveOperationException {
        return (Record) Class.forName(name).getDeclaredConstructor().newInstance();
    }

    private static Object invoked(Method method, Object on, Object... arguments) throws Exception {
        method.setAccessible(true);
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException error) {
            throw (Exception) error.getCause();
        }
    }

    /** The names of constants, by their numbers. */
    private static Map<Integer, String> names(Class<?> constants) {
        Map<Integer, String> found = new HashMap<>();
        try {
            for (Field each : constants.getDeclaredFields()) {
                each.setAccessible(true);
                if (each.getType() == int.class && java.lang.reflect.Modifier.isStatic(each.getModifiers())) {
                    found.putIfAbsent(each.getInt(null), each.getName());
                }
            }
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
        return found;
    }

    private static Map<String, String[]> records(String table) {
        Map<String, String[]> found = new HashMap<>();
        for (String line : table.strip().split("\n")) {
            String[] parts = line.strip().split(" ");
            found.put(parts[0], new String[] {parts[1], parts[2], parts[3]});
        }
        return found;
    }
}
