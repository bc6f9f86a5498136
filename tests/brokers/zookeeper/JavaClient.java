package org.apache.jute;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;

/**
 * ZooKeeper's own client: what kazoo cannot do, and watches that are set again after a leader was lost.
 *
 * Arguments: addresses, a user of the scheme `digest` who may change the configuration, the line of a member. Prints a
 * journal: its session, and a line of JSON for each step and each event. At "HOLD" it waits until a line is read.
 */
public class JavaClient {
    /** What is done, and what is then known of the answer. */
    private interface Call {
        void run(JsonArchive answer) throws Exception;
    }

    private static final byte[] DATA = "content".getBytes(StandardCharsets.UTF_8);
    private static final List<ACL> OPEN = Ids.OPEN_ACL_UNSAFE;
    /** What no server tells: the client says it to those whose watches it gives up. */
    private static final Set<EventType> LOCAL =
        Set.of(EventType.DataWatchRemoved, EventType.ChildWatchRemoved, EventType.PersistentWatchRemoved);
    private static ZooKeeperAdmin client;
    private static volatile CountDownLatch connected = new CountDownLatch(1);

    public static void main(String[] arguments) throws Exception {
        ZKClientConfig settings = new ZKClientConfig();
        settings.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
        client = new ZooKeeperAdmin(arguments[0], 8_000, JavaClient::seen, settings);
        connected.await(20, TimeUnit.SECONDS);
        System.out.println("SESSION 0x" + Long.toHexString(client.getSessionId()));
        nodes();
        transactions();
        watches();
        identities();
        configuration(arguments[1], arguments[2]);
        held();
        client.close(10_000);
        JsonArchive closed = new JsonArchive();
        closed.writeString("closeSession", "operation");
        print("STEP", closed);
    }

    private static void nodes() throws Exception {
        create("/java", CreateMode.PERSISTENT);
        create("/java/ephemeral", CreateMode.EPHEMERAL);
        create("/java/sequential-", CreateMode.PERSISTENT_SEQUENTIAL);
        create("/java/both-", CreateMode.EPHEMERAL_SEQUENTIAL);
        for (CreateMode mode : new CreateMode[] {CreateMode.PERSISTENT, CreateMode.CONTAINER}) {
            String path = "/java/" + mode.name().toLowerCase();
            step(mode.isContainer() ? "createContainer" : "create2", asked -> created(asked, path, mode), answer -> {
                Stat stat = new Stat();
                answer.writeString(client.create(path, DATA, OPEN, mode, stat), "path");
                answer.writeRecord(stat, "stat");
            });
        }
        for (CreateMode mode : new CreateMode[] {
            CreateMode.PERSISTENT_WITH_TTL, CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL
        }) {
            String path = "/java/ttl-" + mode.toFlag();
            step("createTTL", asked -> {
                created(asked, path, mode);
                asked.writeLong(60_000, "ttl");
            }, answer -> {
                Stat stat = new Stat();
                answer.writeString(client.create(path, DATA, OPEN, mode, stat, 60_000), "path");
                answer.writeRecord(stat, "stat");
            });
        }
        create("/java/container/child", CreateMode.PERSISTENT);
        // A container that had a child and has none is taken away by the leader.
        step("delete", asked -> {
            asked.writeString("/java/container/child", "path");
            asked.writeInt(0, "version");
        }, answer -> client.delete("/java/container/child", 0));
        step("delete", asked -> asked.writeString("/java", "path"), answer -> client.delete("/java", -1));
        step("getAllChildrenNumber", asked -> asked.writeString("/java/persistent", "path"),
            answer -> answer.writeInt(client.getAllChildrenNumber("/java/persistent"), "totalNumber"));
        step("getEphemerals", asked -> asked.writeString("/", "prefixPath"),
            answer -> strings(answer, "ephemerals", client.getEphemerals()));
        step("getEphemerals", asked -> asked.writeString("/java/both", "prefixPath"),
            answer -> strings(answer, "ephemerals", client.getEphemerals("/java/both")));
        step("getChildren", asked -> path(asked, "/java", false),
            answer -> strings(answer, "children", client.getChildren("/java", false)));
        step("getChildren2", asked -> path(asked, "/java", false), answer -> {
            Stat stat = new Stat();
            strings(answer, "children", client.getChildren("/java", false, stat));
            answer.writeRecord(stat, "stat");
        });
        step("sync", asked -> asked.writeString("/java", "path"), answer -> {
            CountDownLatch done = new CountDownLatch(1);
            client.sync("/java", (code, path, context) -> done.countDown(), null);
            done.await(10, TimeUnit.SECONDS);
            answer.writeString("/java", "path");
        });
    }

    private static void transactions() throws Exception {
        multi("multi", List.of(
            Op.check("/java", 0),
            Op.create("/java/in-multi", DATA, OPEN, CreateMode.PERSISTENT),
            Op.create("/java/in-multi/c", DATA, OPEN, CreateMode.CONTAINER),
            Op.create("/java/in-multi/t", DATA, OPEN, CreateMode.PERSISTENT_WITH_TTL, 60_000),
            Op.setData("/java/in-multi", new byte[0], 0),
            Op.delete("/java/in-multi/c", -1)));
        multi("multi", List.of(
            Op.create("/java/never", DATA, OPEN, CreateMode.PERSISTENT),
            Op.check("/java", 99),
            Op.delete("/java/in-multi/t", -1)));
        multi("multiRead", List.of(
            Op.getData("/java/in-multi"), Op.getChildren("/java/in-multi"), Op.getData("/java/nowhere")));
    }

    private static void watches() throws Exception {
        addWatch("/java", AddWatchMode.PERSISTENT);
        addWatch("/java/persistent", AddWatchMode.PERSISTENT_RECURSIVE);
        exists("/java/later", true);
        getData("/java/in-multi");
        create("/java/later", CreateMode.PERSISTENT);
        create("/java/persistent/a", CreateMode.PERSISTENT);
        create("/java/persistent/a/b", CreateMode.PERSISTENT);
        setData("/java/in-multi", 1);
        setData("/java/in-multi", 1);
        removeWatches("/java/persistent", WatcherType.Any);
        removeWatches("/java", WatcherType.Children);
    }

    private static void identities() throws Exception {
        client.addAuthInfo("digest", "bob:made-up".getBytes(StandardCharsets.UTF_8));
        step("whoAmI", asked -> { }, answer -> {
            List<ClientInfo> found = client.whoAmI();
            answer.startVector(found, "clientInfo");
            for (ClientInfo each : found) answer.writeRecord(each, "info");
            answer.endVector(found, "clientInfo");
        });
        List<ACL> mine = Arrays.asList(
            new ACL(Perms.READ | Perms.ADMIN, new Id("auth", "")), new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));
        step("setACL", asked -> {
            asked.writeString("/java/later", "path");
            acls(asked, mine);
            asked.writeInt(0, "version");
        }, answer -> answer.writeRecord(client.setACL("/java/later", mine, 0), "stat"));
        step("getACL", asked -> asked.writeString("/java/later", "path"), answer -> {
            Stat stat = new Stat();
            acls(answer, client.getACL("/java/later", stat));
            answer.writeRecord(stat, "stat");
        });
        setData("/java/later", -1);
    }

    private static void configuration(String user, String line) throws Exception {
        reconfigure(line);
        client.addAuthInfo("digest", user.getBytes(StandardCharsets.UTF_8));
        reconfigure(line);
    }

    /** Watches of all five kinds stand when the leader is lost; the client sets them again by itself. */
    private static void held() throws Exception {
        addWatch("/java/persistent", AddWatchMode.PERSISTENT_RECURSIVE);
        exists("/java/not-yet", true);
        getData("/java/in-multi");
        step("getChildren", asked -> path(asked, "/java/in-multi", true),
            answer -> strings(answer, "children", client.getChildren("/java/in-multi", true)));
        connected = new CountDownLatch(1);
        System.out.println("HOLD");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        if (!connected.await(20, TimeUnit.SECONDS)) throw new IOException("not connected again");
        exists("/java/ephemeral", false);
        create("/java/not-yet", CreateMode.PERSISTENT);
        setData("/java/in-multi", -1);
        create("/java/persistent/c", CreateMode.PERSISTENT);
        // The session's end takes its nodes away, which nobody shall be told of any more.
        removeWatches("/java", WatcherType.Any);
    }

    private static void create(String path, CreateMode mode) throws Exception {
        step("create", asked -> created(asked, path, mode),
            answer -> answer.writeString(client.create(path, DATA, OPEN, mode), "path"));
    }

    private static void created(JsonArchive asked, String path, CreateMode mode) throws IOException {
        asked.writeString(path, "path");
        asked.writeBuffer(DATA, "data");
        acls(asked, OPEN);
        asked.writeInt(mode.toFlag(), "flags");
    }

    private static void exists(String path, boolean watch) throws Exception {
        step("exists", asked -> path(asked, path, watch), answer -> {
            Stat stat = client.exists(path, watch);
            if (stat == null) throw new KeeperException.NoNodeException(path);
            answer.writeRecord(stat, "stat");
        });
    }

    private static void getData(String path) throws Exception {
        step("getData", asked -> path(asked, path, true), answer -> {
            Stat stat = new Stat();
            answer.writeBuffer(client.getData(path, true, stat), "data");
            answer.writeRecord(stat, "stat");
        });
    }

    private static void setData(String path, int version) throws Exception {
        step("setData", asked -> {
            asked.writeString(path, "path");
            asked.writeBuffer(DATA, "data");
            asked.writeInt(version, "version");
        }, answer -> answer.writeRecord(client.setData(path, DATA, version), "stat"));
    }

    private static void addWatch(String path, AddWatchMode mode) throws Exception {
        step("addWatch", asked -> {
            asked.writeString(path, "path");
            asked.writeInt(mode.getMode(), "mode");
        }, answer -> client.addWatch(path, mode));
    }

    private static void removeWatches(String path, WatcherType type) throws Exception {
        step("removeWatches", asked -> {
            asked.writeString(path, "path");
            asked.writeInt(type.getIntValue(), "type");
        }, answer -> client.removeAllWatches(path, type, false));
    }

    private static void reconfigure(String line) throws Exception {
        step("reconfig", asked -> asked.writeString(line, "joiningServers"), answer -> {
            Stat stat = new Stat();
            answer.writeBuffer(client.reconfigure(line, null, null, -1, stat), "data");
            answer.writeRecord(stat, "stat");
        });
    }

    private static void multi(String operation, List<Op> operations) throws Exception {
        step(operation, asked -> {
            asked.startVector(operations, "operations");
            for (Op each : operations) {
                asked.startRecord(null, "operation");
                asked.writeString(each.getPath(), "path");
                asked.endRecord(null, "operation");
            }
            asked.endVector(operations, "operations");
        }, answer -> {
            List<OpResult> results = new ArrayList<>();
            try {
                results = client.multi(operations);
            } catch (KeeperException error) {
                results = error.getResults();
            }
            answer.startVector(results, "operations");
            for (OpResult each : results) {
                answer.startRecord(null, "operation");
                result(answer, each);
                answer.endRecord(null, "operation");
            }
            answer.endVector(results, "operations");
        });
    }

    private static void result(JsonArchive answer, OpResult result) throws IOException {
        if (result instanceof OpResult.ErrorResult error) {
            answer.writeInt(error.getErr(), "err");
        } else if (result instanceof OpResult.CreateResult created) {
            answer.writeString(created.getPath(), "path");
            if (created.getStat() != null) answer.writeRecord(created.getStat(), "stat");
        } else if (result instanceof OpResult.SetDataResult set) {
            answer.writeRecord(set.getStat(), "stat");
        } else if (result instanceof OpResult.GetDataResult got) {
            answer.writeBuffer(got.getData(), "data");
            answer.writeRecord(got.getStat(), "stat");
        } else if (result instanceof OpResult.GetChildrenResult got) {
            strings(answer, "children", got.getChildren());
        }
    }

    private static void path(JsonArchive asked, String path, boolean watch) {
        asked.writeString(path, "path");
        asked.writeBool(watch, "watch");
    }

    private static void strings(JsonArchive into, String name, List<String> values) {
        into.startVector(values, name);
        for (String each : values) into.writeString(each, "each");
        into.endVector(values, name);
    }

    private static void acls(JsonArchive into, List<ACL> acls) throws IOException {
        into.startVector(acls, "acl");
        for (ACL each : acls) into.writeRecord(each, "each");
        into.endVector(acls, "acl");
    }

    private static void step(String operation, Call asking, Call call) throws Exception {
        JsonArchive step = new JsonArchive(), asked = new JsonArchive(), answer = new JsonArchive();
        asking.run(asked);
        int error = 0;
        try {
            call.run(answer);
        } catch (KeeperException failed) {
            error = failed.code().intValue();
            answer = new JsonArchive();
        }
        step.writeString(operation, "operation");
        step.writeJson(asked.done(), "asked");
        step.writeInt(error, "error");
        step.writeJson(answer.done(), "answer");
        print("STEP", step);
    }

    private static void seen(WatchedEvent event) {
        if (LOCAL.contains(event.getType())) return;
        if (event.getType() != EventType.None) {
            JsonArchive told = new JsonArchive();
            told.writeString(event.getType().name(), "type");
            told.writeString(event.getState().name(), "state");
            told.writeString(event.getPath(), "path");
            print("EVENT", told);
        } else if (event.getState() == KeeperState.SyncConnected) {
            connected.countDown();
        }
    }

    private static synchronized void print(String kind, JsonArchive json) {
        System.out.println(kind + " " + json.done());
    }
}
