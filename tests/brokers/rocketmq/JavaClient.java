import com.alibaba.fastjson2.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.common.ClientErrorCode;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.ResponseCode;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * RocketMQ's own client: all ways to send, to get and to be refused, and what an administrator asks.
 *
 * Arguments: the name server's address, the broker's. Prints a journal. A queue of each topic is enough to be told
 * apart; what is sent is there before anybody looks for it, so that nothing waits for a rebalance.
 */
public class JavaClient {
    /** What may fail. */
    private interface Call {
        void run() throws Exception;
    }

    private static final String[] TOPICS = {
        "java-plain", "java-codecs", "java-delays", "java-orders", "java-bills", "java-letters", "java-news", "java-questions",
        "java-pops", "java-busy"
    };
    private static final int QUEUES = 2;
    private static final int PATIENCE = 30;
    private static final String ALL = "*";
    private static String names;
    private static String broker;
    private static DefaultMQAdminExt admin;
    private static DefaultMQProducer producer;

    public static void main(String[] arguments) {
        try {
            names = arguments[0];
            broker = arguments[1];
            all();
        } catch (Throwable error) {
            error.printStackTrace();
            // A client's threads would go on.
            System.exit(1);
        }
        System.exit(0);
    }

    private static void all() throws Exception {
        admin = new DefaultMQAdminExt("administrating", TimeUnit.SECONDS.toMillis(PATIENCE));
        admin.setNamesrvAddr(names);
        admin.setClientIP("127.0.0.1");
        admin.setInstanceName("admin");
        admin.start();
        prepare();
        producer = started(new DefaultMQProducer("java-sending"), "sender");
        Call rest = popped();
        plain();
        codecs();
        delays();
        consumed();
        transactions();
        questions();
        letters();
        pulled();
        refused();
        busy();
        signed();
        looked();
        rest.run();
        producer.shutdown();
        admin.deleteTopicInBroker(java.util.Set.of(broker), "java-busy");
        admin.deleteTopicInNameServer(java.util.Set.of(names), "java-busy");
        admin.shutdown();
    }

    private static void prepare() throws Exception {
        for (String topic : TOPICS) {
            TopicConfig config = new TopicConfig(topic, QUEUES, QUEUES);
            if (topic.equals("java-bills")) config.getAttributes().put("+message.type", "TRANSACTION");
            admin.createAndUpdateTopicConfig(broker, config);
        }
        for (String topic : TOPICS) known(topic);
        SubscriptionGroupConfig few = new SubscriptionGroupConfig();
        few.setGroupName("java-choosy");
        few.setRetryMaxTimes(1);
        admin.createAndUpdateSubscriptionGroupConfig(broker, few);
        SubscriptionGroupConfig none = new SubscriptionGroupConfig();
        none.setGroupName("java-forbidden");
        none.setConsumeEnable(false);
        admin.createAndUpdateSubscriptionGroupConfig(broker, none);
        admin.setMessageRequestMode(broker, "java-pops", "java-popping", MessageRequestMode.POP, 4, 3_000);
        told("brokers", admin.examineBrokerClusterInfo().getBrokerAddrTable().size());
    }

    /** Waits until the broker has told the name server. */
    private static void known(String topic) throws Exception {
        for (int tries = 0; tries < PATIENCE * 10; tries++) {
            try {
                admin.examineTopicRouteInfo(topic);
                return;
            } catch (MQClientException absent) {
                Thread.sleep(100);
            }
        }
        throw new IllegalStateException("nobody knows " + topic);
    }

    /** One by one and waited for, told later, not told at all, several at once; to an address of its own for clients. */
    private static void plain() throws Exception {
        for (int number = 0; number < 4; number++) {
            Message message = message("java-plain", number % 2 == 0 ? "even" : "odd", "key-" + number + " all", "value " + number);
            message.putUserProperty("number", "" + number);
            sent(message, producer.send(message));
        }
        CountDownLatch taken = new CountDownLatch(4);
        for (int number = 4; number < 8; number++) {
            Message message = message("java-plain", null, "key-" + number, number == 4 ? "žluťoučký 蓝" : "value " + number);
            producer.send(message, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    sent(message, result);
                    taken.countDown();
                }

                @Override
                public void onException(Throwable error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            });
        }
        if (!taken.await(PATIENCE, TimeUnit.SECONDS)) throw new IllegalStateException("not taken");
        Message alone = message("java-plain", "even", "key-8", "nobody answers");
        producer.sendOneway(alone);
        print("SENT", content(alone, null, alone.getProperty("UNIQ_KEY"), -1, -1));
        List<Message> several = new ArrayList<>();
        for (int number = 9; number < 12; number++) several.add(message("java-plain", "odd", "key-" + number, "one of several"));
        SendResult result = producer.send(several);
        String[] ids = result.getMsgId().split(",");
        for (int index = 0; index < ids.length; index++) {
            MessageQueue queue = result.getMessageQueue();
            print("SENT", content(several.get(index), null, ids[index], queue.getQueueId(), result.getQueueOffset() + index));
        }
        DefaultMQProducer privileged = new DefaultMQProducer("java-privileged");
        privileged.setVipChannelEnabled(true);
        started(privileged, "privileged");
        Message message = message("java-plain", "even", "key-12", "over the other port");
        sent(message, privileged.send(message));
        privileged.shutdown();
    }

    private static void codecs() throws Exception {
        for (CompressionType codec : CompressionType.values()) {
            DefaultMQProducer compressing = new DefaultMQProducer("java-compressing");
            compressing.setCompressMsgBodyOverHowmuch(100);
            compressing.setCompressType(codec);
            started(compressing, codec.name());
            Message message = message("java-codecs", codec.name(), null, "the same again, ".repeat(60) + codec);
            // What is in it changes when it is compressed.
            Message before = new Message(message.getTopic(), message.getTags(), message.getBody());
            // It is there until the end: to say goodbye takes some seconds.
            sent(before, compressing.send(message));
        }
    }

    /** By level and by time; one is called back before it is due. */
    private static void delays() throws Exception {
        Message level = message("java-delays", "level", "late-1", "after a second");
        level.setDelayTimeLevel(1);
        Message timed = message("java-delays", "timed", "late-2", "after two seconds");
        timed.setDelayTimeMs(2_000);
        Message called = message("java-delays", "called", "late-3", "never");
        called.setDelayTimeSec(20);
        sent(level, producer.send(level));
        sent(timed, producer.send(timed));
        SendResult result = producer.send(called);
        sent(called, result);
        told("recalled", producer.recallMessage("java-delays", result.getRecallHandle()));
    }

    /** By tag, by what SQL says, in order, each for itself; and an administrator who asks consumers while they are there. */
    private static void consumed() throws Exception {
        DefaultMQPushConsumer tagged = consumer("java-tagged");
        tagged.subscribe("java-plain", "even || odd");
        CountDownLatch first = listening(tagged, 9, each -> true);
        DefaultMQPushConsumer asking = consumer("java-asking");
        asking.subscribe("java-plain", MessageSelector.bySql("number is not null and number > 1"));
        CountDownLatch second = listening(asking, 2, each -> true);
        DefaultMQPushConsumer ordered = consumer("java-ordered");
        ordered.subscribe("java-codecs", ALL);
        CountDownLatch third = new CountDownLatch(CompressionType.values().length);
        ordered.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            for (MessageExt each : messages) {
                got(ordered.getConsumerGroup(), each);
                third.countDown();
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        ordered.start();
        DefaultMQPushConsumer everyone = consumer("java-everyone");
        everyone.setMessageModel(MessageModel.BROADCASTING);
        everyone.subscribe("java-news", ALL);
        AtomicInteger heard = new AtomicInteger();
        CountDownLatch fourth = listening(everyone, 1, each -> true);
        DefaultMQPushConsumer late = consumer("java-late");
        late.subscribe("java-delays", ALL);
        CountDownLatch fifth = listening(late, 2, each -> true);
        Message news = message("java-news", null, null, "for all");
        sent(news, producer.send(news));
        for (CountDownLatch each : List.of(first, second, third, fourth, fifth)) awaited(each);
        String client = admin.examineConsumerConnectionInfo("java-tagged").getConnectionSet().iterator().next().getClientId();
        told("running", admin.getConsumerRunningInfo("java-tagged", client, false).getSubscriptionSet().size());
        told("status", admin.getConsumeStatus("java-plain", "java-tagged", client).size());
        told("lag", admin.examineConsumeStats("java-tagged").computeTotalDiff());
        told("reset", admin.resetOffsetByTimestamp("java-plain", "java-asking", 0, true).size());
        DefaultMQPushConsumer another = consumer("java-late");
        another.setInstanceName("java-late-2");
        another.subscribe("java-delays", ALL);
        // The first one hears of it, and gives a queue away.
        listening(another, 1, each -> true);
        Thread.sleep(1_500);
        for (DefaultMQPushConsumer each : List.of(tagged, asking, ordered, everyone, late, another)) each.shutdown();
    }

    /** One that is committed, one that is rolled back, and one of which nothing is known until the broker asks. */
    private static void transactions() throws Exception {
        TransactionMQProducer billing = new TransactionMQProducer("java-billing");
        CountDownLatch asked = new CountDownLatch(1);
        billing.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object state) {
                told("transaction " + message.getTransactionId(), state.toString());
                return (LocalTransactionState) state;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                told("checked " + message.getTransactionId(), LocalTransactionState.COMMIT_MESSAGE.toString());
                asked.countDown();
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        started(billing, "billing");
        for (LocalTransactionState state : LocalTransactionState.values()) {
            Message message = message("java-bills", state.name(), "bill", "bill " + state);
            sent(message, billing.sendMessageInTransaction(message, state));
        }
        DefaultMQPushConsumer paying = consumer("java-paying");
        paying.subscribe("java-bills", ALL);
        CountDownLatch paid = listening(paying, 2, each -> true);
        awaited(asked);
        awaited(paid);
        paying.shutdown();
        billing.shutdown();
    }

    /** A question whose answer comes as a request of the broker's. */
    private static void questions() throws Exception {
        DefaultMQPushConsumer answering = consumer("java-answering");
        answering.subscribe("java-questions", ALL);
        CountDownLatch replied = new CountDownLatch(1);
        answering.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            try {
                for (MessageExt each : messages) {
                    got("java-answering", each);
                    producer.send(MessageUtil.createReplyMessage(each, bytes("an answer")));
                    replied.countDown();
                }
            } catch (Exception error) {
                error.printStackTrace();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        answering.start();
        Message question = message("java-questions", null, null, "a question");
        Message answer = producer.request(question, TimeUnit.SECONDS.toMillis(PATIENCE));
        told("answered", new String(answer.getBody(), StandardCharsets.UTF_8));
        awaited(replied);
        answering.shutdown();
    }

    /** What nobody can use comes once more, and then to a topic of its own. */
    private static void letters() throws Exception {
        Message message = message("java-letters", "bad", "unusable", "unusable");
        sent(message, producer.send(message));
        DefaultMQPushConsumer choosy = consumer("java-choosy");
        choosy.setMaxReconsumeTimes(1);
        choosy.subscribe("java-letters", ALL);
        awaited(listening(choosy, 2, each -> false));
        DefaultMQPullConsumer dead = new DefaultMQPullConsumer("java-burying");
        dead.setNamesrvAddr(names);
        dead.setClientIP("127.0.0.1");
        dead.start();
        MessageQueue queue = new MessageQueue("%DLQ%java-choosy", "broker-a", 0);
        for (int tries = 0; tries < PATIENCE; tries++) {
            try {
                PullResult result = dead.pull(queue, ALL, 0, 8);
                if (result.getMsgFoundList() != null && !result.getMsgFoundList().isEmpty()) {
                    for (MessageExt each : result.getMsgFoundList()) got("java-burying", each);
                    break;
                }
            } catch (MQClientException | MQBrokerException absent) {
                told("not yet", absent.getClass().getSimpleName());
            }
            Thread.sleep(500);
        }
        dead.shutdown();
        choosy.shutdown();
    }

    /**
     * The broker decides who gets what; the first message is of no use at first, and comes again ten seconds later.
     *
     * A binary header has two bytes for the request's code, and that of this request needs three: the broker knows no
     * such request, and the client asks each second.
     */
    private static Call popped() throws Exception {
        for (int number = 0; number < 4; number++) {
            Message message = message("java-pops", null, "pop-" + number, "popped " + number);
            sent(message, producer.send(message));
        }
        DefaultMQPushConsumer popping = consumer("java-popping");
        popping.setClientRebalance(false);
        popping.setPopInvisibleTime(10_000);
        popping.subscribe("java-pops", ALL);
        AtomicInteger seen = new AtomicInteger();
        boolean binary = "ROCKETMQ".equals(System.getProperty("rocketmq.serialize.type"));
        CountDownLatch latch = listening(popping, binary ? 0 : 5, each -> seen.getAndIncrement() != 0);
        return () -> {
            awaited(latch);
            // What it took last is acknowledged a moment later.
            Thread.sleep(500);
            popping.shutdown();
            if (binary) failed("POP_MESSAGE", ResponseCode.REQUEST_CODE_NOT_SUPPORTED);
        };
    }

    /** Consumers that ask by themselves: one that is given its queues, and one that knows places. */
    private static void pulled() throws Exception {
        DefaultLitePullConsumer polling = new DefaultLitePullConsumer("java-polling");
        polling.setNamesrvAddr(names);
        polling.setClientIP("127.0.0.1");
        polling.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        polling.setAutoCommit(false);
        polling.subscribe("java-codecs", ALL);
        polling.start();
        for (int left = CompressionType.values().length; left > 0; ) {
            List<MessageExt> messages = polling.poll(TimeUnit.SECONDS.toMillis(PATIENCE));
            if (messages.isEmpty()) throw new IllegalStateException("nothing came");
            for (MessageExt each : messages) got("java-polling", each);
            left -= messages.size();
        }
        polling.commitSync();
        polling.shutdown();
        DefaultMQPullConsumer placing = new DefaultMQPullConsumer("java-placing");
        placing.setNamesrvAddr(names);
        placing.setClientIP("127.0.0.1");
        placing.start();
        for (MessageQueue queue : placing.fetchSubscribeMessageQueues("java-plain")) {
            long offset = placing.minOffset(queue);
            while (offset < placing.maxOffset(queue)) {
                PullResult result = placing.pull(queue, ALL, offset, 3);
                for (MessageExt each : result.getMsgFoundList()) got("java-placing", each);
                offset = result.getNextBeginOffset();
            }
            placing.updateConsumeOffset(queue, offset);
            told("beyond", placing.pull(queue, ALL, 1_000, 3).getPullStatus().name());
        }
        placing.shutdown();
    }

    private static void refused() throws Exception {
        failing("GET_ROUTEINFO_BY_TOPIC", () -> admin.examineTopicRouteInfo("no-such-topic"));
        failing("GET_ROUTEINFO_BY_TOPIC", () -> producer.send(message("no-such-topic", null, null, "nowhere")));
        failing("SEND_MESSAGE_V2", () -> producer.send(message("java-plain", null, null, "."),
            new MessageQueue("java-plain", "broker-a", 77)));
        DefaultMQPullConsumer forbidden = new DefaultMQPullConsumer("java-forbidden");
        forbidden.setNamesrvAddr(names);
        forbidden.setClientIP("127.0.0.1");
        forbidden.start();
        failing("PULL_MESSAGE", () -> forbidden.pull(new MessageQueue("java-plain", "broker-a", 0), ALL, 0, 1));
        forbidden.shutdown();
        DefaultMQPushConsumer mistaken = consumer("java-mistaken");
        mistaken.subscribe("java-plain", MessageSelector.bySql("number > > 1"));
        failing("CHECK_CLIENT_CONFIG", () -> listening(mistaken, 1, each -> true));
        mistaken.shutdown();
        // Who is in a group is asked of the broker that has the group's retries.
        failing("GET_ROUTEINFO_BY_TOPIC", () -> admin.examineConsumerConnectionInfo("nobody"));
    }

    /** A broker that lets nobody wait refuses what had to. */
    private static void busy() throws Exception {
        Properties change = new Properties();
        change.setProperty("waitTimeMillsInSendQueue", "0");
        admin.updateBrokerConfig(broker, change);
        DefaultMQProducer hasty = new DefaultMQProducer("java-hasty");
        hasty.setRetryTimesWhenSendAsyncFailed(0);
        started(hasty, "hasty");
        AtomicInteger count = new AtomicInteger();
        for (int round = 0; round < 40 && count.get() == 0; round++) {
            CountDownLatch answered = new CountDownLatch(30);
            for (int number = 0; number < 30; number++) {
                Message message = message("java-busy", null, null, "quick");
                hasty.send(message, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        sent(message, result);
                        answered.countDown();
                    }

                    @Override
                    public void onException(Throwable error) {
                        if (error instanceof MQBrokerException told) {
                            failed("SEND_MESSAGE_V2", told.getResponseCode());
                            count.incrementAndGet();
                        }
                        answered.countDown();
                    }
                });
            }
            awaited(answered);
        }
        hasty.shutdown();
        change.setProperty("waitTimeMillsInSendQueue", "2000");
        admin.updateBrokerConfig(broker, change);
    }

    /** Somebody who signs what is sent; nobody checks it. */
    private static void signed() throws Exception {
        RPCHook hook = new AclClientRPCHook(new SessionCredentials("a-made-up-access-key", "a-made-up-secret-key", "a-made-up-token"));
        DefaultMQProducer signing = started(new DefaultMQProducer("java-signing", hook), "signing");
        Message message = message("java-plain", "signed", "key-13", "signed");
        sent(message, signing.send(message));
        signing.shutdown();
    }

    /** What an administrator looks for: by key, by id, of a topic, of a group. */
    private static void looked() throws Exception {
        List<MessageExt> found = List.of();
        // Keys are indexed by a thread of their own.
        for (int tries = 0; tries < PATIENCE && found.isEmpty(); tries++) {
            try {
                found = admin.queryMessage("java-plain", "key-0", 8, 0, Long.MAX_VALUE).getMessageList();
            } catch (MQClientException none) {
                Thread.sleep(500);
            }
        }
        for (MessageExt each : found) told("by key", each.getMsgId());
        MessageExt one = admin.viewMessage("java-plain", ((org.apache.rocketmq.common.message.MessageClientExt) found.get(0)).getOffsetMsgId());
        told("by place", one.getMsgId());
        told("topics", admin.fetchAllTopicList().getTopicList().size());
        told("stats", admin.examineTopicStats("java-plain").getOffsetTable().size());
        told("queues", admin.examineTopicConfig(broker, "java-plain").getReadQueueNums());
        told("retries", admin.examineSubscriptionGroupConfig(broker, "java-choosy").getRetryMaxTimes());
        told("producers", admin.examineProducerConnectionInfo("java-sending", "java-plain").getConnectionSet().size());
    }

    private static Message message(String topic, String tag, String keys, String body) {
        return new Message(topic, tag, keys, bytes(body));
    }

    private static <T extends DefaultMQProducer> T started(T found, String instance) throws Exception {
        found.setNamesrvAddr(names);
        found.setClientIP("127.0.0.1");
        found.setInstanceName(instance);
        found.setSendMsgTimeout((int) TimeUnit.SECONDS.toMillis(PATIENCE));
        found.start();
        return found;
    }

    private static DefaultMQPushConsumer consumer(String group) {
        DefaultMQPushConsumer found = new DefaultMQPushConsumer(group);
        found.setNamesrvAddr(names);
        found.setClientIP("127.0.0.1");
        found.setInstanceName(group);
        found.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // Else one whose subscription changed while it said hello gets nothing for half a minute, nor does a retry come,
        // for the topic that it comes by is made by that hello.
        found.setPollNameServerInterval(1_000);
        found.setHeartbeatBrokerInterval(2_000);
        found.setConsumeMessageBatchMaxSize(1);
        found.setConsumeThreadMin(1);
        found.setConsumeThreadMax(1);
        return found;
    }

    /** Starts it; what the latch counts was given to it so many times. `takes`: whether it was of use. */
    private static CountDownLatch listening(DefaultMQPushConsumer consumer, int count, Predicate<MessageExt> takes)
            throws Exception {
        CountDownLatch left = new CountDownLatch(count);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt each : messages) {
                got(consumer.getConsumerGroup(), each);
                left.countDown();
                if (!takes.test(each)) return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return left;
    }

    private static void awaited(CountDownLatch latch) throws Exception {
        if (!latch.await(PATIENCE, TimeUnit.SECONDS)) throw new IllegalStateException(latch.getCount() + " did not come");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    // The journal.

    private static void failing(String operation, Call call) throws Exception {
        try {
            call.run();
        } catch (MQBrokerException error) {
            failed(operation, error.getResponseCode());
            return;
        } catch (MQClientException error) {
            int code = error.getResponseCode();
            failed(operation, code == ClientErrorCode.NOT_FOUND_TOPIC_EXCEPTION ? ResponseCode.TOPIC_NOT_EXIST : code);
            return;
        }
        throw new IllegalStateException("was not refused: " + operation);
    }

    private static void failed(String operation, int code) {
        print("FAILED", new JSONObject().fluentPut("operation", operation).fluentPut("code", code));
    }

    private static void told(String what, Object answer) {
        print("TOLD", new JSONObject().fluentPut("what", what).fluentPut("answer", answer));
    }

    private static void sent(Message message, SendResult result) {
        print("SENT", content(message, result.getOffsetMsgId(), result.getMsgId(), result.getMessageQueue().getQueueId(),
            result.getQueueOffset()));
    }

    private static void got(String group, MessageExt message) {
        JSONObject found = content(message, null, message.getMsgId(), message.getQueueId(), message.getQueueOffset());
        found.remove("place");
        print("GOT", found.fluentPut("group", group).fluentPut("reconsumed", message.getReconsumeTimes()));
    }

    /** place: where the broker put it, as it names that itself. */
    private static JSONObject content(Message message, String place, String id, int queue, long offset) {
        JSONObject found = new JSONObject().fluentPut("topic", message.getTopic()).fluentPut("queue", queue);
        found.fluentPut("offset", offset).fluentPut("id", id).fluentPut("place", place);
        found.fluentPut("keys", message.getKeys()).fluentPut("tag", message.getTags());
        return found.fluentPut("body", HexFormat.of().formatHex(message.getBody()));
    }

    private static synchronized void print(String word, JSONObject content) {
        System.out.println(word + " " + content.toString(com.alibaba.fastjson2.JSONWriter.Feature.WriteNulls));
        System.out.flush();
    }
}
