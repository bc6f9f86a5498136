import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.crypto.SecretKey;
import org.apache.pulsar.broker.authentication.utils.AuthTokenUtils;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.CryptoKeyReader;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.EncryptionKeyInfo;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.RegexSubscriptionMode;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.apache.pulsar.client.impl.MessageImpl;
import org.apache.pulsar.client.impl.PulsarClientImpl;

/**
 * Pulsar's own client: what the one in C++ cannot do, what brokers refuse, and what brokers do by themselves.
 *
 * Arguments: the broker's address, that of its admin API, the secret that signs tokens. Prints a journal.
 */
public class JavaClient {
    /** What may fail. */
    private interface Call {
        void run() throws Exception;
    }

    public static class Order {
        public String name;
        public int amount;
    }

    public static class OtherOrder {
        public int name;
        public boolean paid;
    }

    private static final String TOPICS = "persistent://public/default/";
    private static final int PATIENCE = 20;
    private static final String SEALING = "a-key";
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static PulsarClient client;
    private static String admin;

    public static void main(String[] arguments) {
        try {
            all(arguments);
        } catch (Throwable error) {
            error.printStackTrace();
            // A client's threads would go on.
            System.exit(1);
        }
        System.exit(0);
    }

    private static void all(String[] arguments) throws Exception {
        String address = "pulsar://" + arguments[0];
        admin = "http://" + arguments[1] + "/admin/v2/persistent/public/default/";
        client = builder(address).enableTransaction(true).build();
        batches();
        chunks();
        sealed();
        delayed();
        letters();
        transactions();
        patterns();
        owners();
        structures();
        moved();
        ended();
        client.close();
        tokens(address, arguments[2]);
    }

    private static ClientBuilder builder(String address) {
        return PulsarClient.builder().serviceUrl(address).keepAliveInterval(2, TimeUnit.SECONDS)
            .operationTimeout(PATIENCE, TimeUnit.SECONDS);
    }

    /** Keys of both kinds, a value that is null, times; and one of a batch that is acknowledged by itself. */
    private static void batches() throws Exception {
        Producer<byte[]> producer = client.newProducer().topic(TOPICS + "java-batches").producerName("batcher")
            .enableBatching(true).batchingMaxMessages(5).batchingMaxPublishDelay(5, TimeUnit.SECONDS)
            .compressionType(CompressionType.ZSTD).loadConf(Map.of("compressMinMsgBodySize", 0)).create();
        List<CompletableFuture<MessageId>> taken = new ArrayList<>();
        for (int number = 0; number < 5; number++) {
            TypedMessageBuilder<byte[]> message = producer.newMessage().sequenceId(10 + number).eventTime(1 + number)
                .value(number == 4 ? null : bytes("value " + number)).property("number", "" + number);
            if (number != 1) message.key("key-" + number % 2).orderingKey(bytes("order"));
            taken.add(message.sendAsync());
        }
        for (int number = 0; number < 5; number++) {
            String key = number == 1 ? null : "key-" + number % 2;
            byte[] value = number == 4 ? null : bytes("value " + number);
            sent(producer, 10 + number, taken.get(number).get(), value, key, null);
        }
        Consumer<byte[]> consumer = consumer("java-batches", "by-index").enableBatchIndexAcknowledgment(true)
            .isAckReceiptEnabled(true).subscribe();
        List<Message<byte[]>> messages = got(consumer, 5);
        acked(consumer, messages.get(1));
        acked(consumer, messages.get(3));
        for (int number : new int[] {0, 2, 4}) acked(consumer, messages.get(number));
        consumer.close();
        producer.close();
    }

    private static void chunks() throws Exception {
        Producer<byte[]> producer = client.newProducer().topic(TOPICS + "java-chunks").producerName("chunker")
            .enableBatching(false).enableChunking(true).chunkMaxMessageSize(1_000).create();
        Consumer<byte[]> consumer = consumer("java-chunks", "whole").subscribe();
        for (int number = 0; number < 2; number++) {
            byte[] value = bytes(("part " + number + ", ").repeat(400));
            sent(producer, number, producer.newMessage().sequenceId(number).value(value).send(), value, null, null);
        }
        for (Message<byte[]> each : got(consumer, 2)) acked(consumer, each);
        consumer.close();
        producer.close();
    }

    /** What only who has a key can read; another key is of no use. */
    private static void sealed() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(2_048);
        KeyPair pair = generator.generateKeyPair();
        CryptoKeyReader keys = new CryptoKeyReader() {
            @Override
            public EncryptionKeyInfo getPublicKey(String name, Map<String, String> metadata) {
                return new EncryptionKeyInfo(pem("PUBLIC", pair.getPublic()), Map.of("version", "1"));
            }

            @Override
            public EncryptionKeyInfo getPrivateKey(String name, Map<String, String> metadata) {
                return new EncryptionKeyInfo(pem("PRIVATE", pair.getPrivate()), metadata);
            }
        };
        Consumer<byte[]> consumer = consumer("java-sealed", "reading").cryptoKeyReader(keys).subscribe();
        for (boolean batched : new boolean[] {false, true}) {
            Producer<byte[]> producer = client.newProducer().topic(TOPICS + "java-sealed").producerName("sealer-" + batched)
                .enableBatching(batched).addEncryptionKey(SEALING).cryptoKeyReader(keys).create();
            byte[] value = bytes("nobody else may read this");
            sent(producer, 0, producer.newMessage().sequenceId(0).value(value).send(), value, null, SEALING);
            producer.close();
        }
        for (Message<byte[]> each : got(consumer, 2, SEALING)) acked(consumer, each);
        consumer.close();
    }

    private static void delayed() throws Exception {
        Consumer<byte[]> consumer = consumer("java-delayed", "later").subscriptionType(SubscriptionType.Shared).subscribe();
        Producer<byte[]> producer = plain("java-delayed", "delayer").create();
        byte[] value = bytes("later");
        sent(producer, 0, producer.newMessage().sequenceId(0).value(value).deliverAfter(1, TimeUnit.SECONDS).send(), value,
            null, null);
        acked(consumer, got(consumer, 1).get(0));
        consumer.close();
        producer.close();
    }

    /** What nobody can use goes to a topic of its own, at the second time. */
    private static void letters() throws Exception {
        Producer<byte[]> producer = plain("java-letters", "writer").create();
        Consumer<byte[]> consumer = consumer("java-letters", "choosy").subscriptionType(SubscriptionType.Shared)
            .negativeAckRedeliveryDelay(200, TimeUnit.MILLISECONDS)
            .deadLetterPolicy(DeadLetterPolicy.builder().maxRedeliverCount(1).deadLetterTopic(TOPICS + "java-dead").build())
            .subscribe();
        Consumer<byte[]> dead = consumer("java-dead", "burying").subscribe();
        byte[] value = bytes("unusable");
        sent(producer, 0, producer.newMessage().sequenceId(0).value(value).send(), value, null, null);
        for (int number = 0; number < 2; number++) consumer.negativeAcknowledge(got(consumer, 1).get(0));
        // Its producer has a name that the client made; what it sent is seen here.
        CompletableFuture<Message<byte[]>> coming = dead.receiveAsync();
        while (!coming.isDone()) consumer.receive(200, TimeUnit.MILLISECONDS);
        acked(dead, got(dead, coming.get(), null));
        consumer.close();
        dead.close();
        producer.close();
    }

    /** One that is done, one that is not: what it sent is never delivered, what it acknowledged comes again. */
    private static void transactions() throws Exception {
        Producer<byte[]> before = plain("java-orders", "ordering").create();
        for (int number = 0; number < 2; number++) {
            byte[] value = bytes("order " + number);
            sent(before, number, before.newMessage().sequenceId(number).value(value).send(), value, null, null);
        }
        Producer<byte[]> producer = plain("java-bills", "billing").sendTimeout(0, TimeUnit.SECONDS).create();
        Consumer<byte[]> orders = consumer("java-orders", "bills").subscriptionType(SubscriptionType.Shared).subscribe();
        Consumer<byte[]> bills = consumer("java-bills", "paying").subscribe();
        int sequence = 0;
        for (boolean commits : new boolean[] {false, true}) {
            Transaction transaction = client.newTransaction().withTransactionTimeout(1, TimeUnit.MINUTES).build().get();
            for (Message<byte[]> order : got(orders, 2)) {
                byte[] value = bytes(commits + " bill of " + new String(order.getData(), StandardCharsets.UTF_8));
                MessageId id = producer.newMessage(transaction).sequenceId(sequence).value(value).sendAsync().get();
                sent(producer, sequence++, id, value, null, null);
                orders.acknowledgeAsync(order.getMessageId(), transaction).get();
                acked(orders, order.getMessageId());
            }
            if (commits) transaction.commit().get();
            else transaction.abort().get();
            told("transaction " + (commits ? "COMMIT " : "ABORT ") + transaction.getTxnID());
            if (!commits) orders.redeliverUnacknowledgedMessages();
        }
        for (Message<byte[]> each : got(bills, 2)) acked(bills, each);
        orders.close();
        bills.close();
        before.close();
        producer.close();
    }

    /** Topics of a pattern, one of which comes to be later. */
    private static void patterns() throws Exception {
        Producer<byte[]> first = plain("java-pattern-1", "patterned-1").create();
        Consumer<byte[]> consumer = client.newConsumer().topicsPattern(Pattern.compile(TOPICS + "java-pattern-.*"))
            .subscriptionTopicsMode(RegexSubscriptionMode.PersistentOnly).subscriptionName("all").consumerName("all-patterned")
            .patternAutoDiscoveryPeriod(30, TimeUnit.SECONDS)
            .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
        Producer<byte[]> second = plain("java-pattern-2", "patterned-2").create();
        byte[] value = bytes("found");
        for (Producer<byte[]> each : List.of(first, second)) {
            sent(each, 0, each.newMessage().sequenceId(0).value(value).send(), value, null, null);
        }
        for (Message<byte[]> each : got(consumer, 2)) acked(consumer, each);
        consumer.close();
        first.close();
        second.close();
    }

    /** Producers that want a topic, or a name, for themselves. */
    private static void owners() throws Exception {
        ProducerBuilder<byte[]> exclusive = plain("java-owned", null).accessMode(ProducerAccessMode.Exclusive);
        Producer<byte[]> first = exclusive.clone().producerName("first").create();
        failing("PRODUCER", () -> exclusive.clone().producerName("second").create());
        failing("PRODUCER", () -> plain("java-owned", "first").create());
        CompletableFuture<Producer<byte[]>> waiting = plain("java-owned", "waiting")
            .accessMode(ProducerAccessMode.WaitForExclusive).createAsync();
        Thread.sleep(300);
        told("waiting " + !waiting.isDone());
        first.close();
        Producer<byte[]> second = waiting.get(PATIENCE, TimeUnit.SECONDS);
        byte[] value = bytes("mine");
        sent(second, 0, second.newMessage().sequenceId(0).value(value).send(), value, null, null);
        Producer<byte[]> third = plain("java-owned", "third").accessMode(ProducerAccessMode.ExclusiveWithFencing).create();
        failing("PRODUCER", () -> {
            // Who was fenced is closed by the broker, and comes back to hear why.
            for (int number = 1; number < 20; number++) second.newMessage().sequenceId(number).value(value).send();
        });
        third.close();
        Producer<byte[]> named = plain("java-named", "twice").create();
        failing("PRODUCER", () -> plain("java-named", "twice").create());
        named.close();
    }

    /** Structures that do not fit the topic's schema are refused; one can be asked for. */
    private static void structures() throws Exception {
        Producer<Order> producer = client.newProducer(Schema.AVRO(Order.class)).topic(TOPICS + "java-orders-avro")
            .producerName("structured").create();
        Order order = new Order();
        order.name = "first";
        order.amount = 3;
        byte[] value = Schema.AVRO(Order.class).encode(order);
        sent(producer, 0, producer.newMessage().sequenceId(0).value(order).send(), value, null, null);
        failing("PRODUCER", () -> client.newProducer(Schema.AVRO(OtherOrder.class)).topic(TOPICS + "java-orders-avro")
            .create());
        failing("SUBSCRIBE", () -> client.newConsumer(Schema.JSON(OtherOrder.class)).topic(TOPICS + "java-orders-avro")
            .subscriptionName("other").subscribe());
        Consumer<?> consumer = client.newConsumer(Schema.AUTO_CONSUME()).topic(TOPICS + "java-orders-avro")
            .subscriptionName("any").consumerName("any-java-orders-avro")
            .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
        Message<?> message = consumer.receive(PATIENCE, TimeUnit.SECONDS);
        got(consumer, message, null);
        acked(consumer, message);
        told("schema " + message.getReaderSchema().get().getSchemaInfo().getType());
        consumer.close();
        producer.close();
    }

    /** A broker gives a topic away: it closes its producers and consumers, who come back. */
    private static void moved() throws Exception {
        Producer<byte[]> producer = plain("java-moved", "mover").create();
        Consumer<byte[]> consumer = consumer("java-moved", "moving").subscribe();
        byte[] value = bytes("before and after");
        sent(producer, 0, producer.newMessage().sequenceId(0).value(value).send(), value, null, null);
        acked(consumer, got(consumer, 1).get(0));
        consumer.seek(MessageId.earliest);
        acked(consumer, got(consumer, 1).get(0));
        told("unloaded " + asked("PUT", "java-moved/unload"));
        sent(producer, 1, producer.newMessage().sequenceId(1).value(value).send(), value, null, null);
        acked(consumer, got(consumer, 1).get(0));
        consumer.unsubscribe();
        producer.close();
    }

    /** A topic that is terminated takes nothing more, and who has read it all is told. */
    private static void ended() throws Exception {
        Producer<byte[]> producer = plain("java-ended", "ender").create();
        Consumer<byte[]> consumer = consumer("java-ended", "ending").subscribe();
        byte[] value = bytes("last");
        sent(producer, 0, producer.newMessage().sequenceId(0).value(value).send(), value, null, null);
        acked(consumer, got(consumer, 1).get(0));
        told("terminated " + asked("POST", "java-ended/terminate"));
        for (int number = 0; number < 50 && !consumer.hasReachedEndOfTopic(); number++) Thread.sleep(100);
        told("end " + consumer.hasReachedEndOfTopic());
        // Its producer is closed with it, and hears why when it comes back.
        failing("PRODUCER", () -> producer.newMessage().sequenceId(1).value(value).send());
        consumer.close();
        producer.close();
    }

    /** A token that expires while it is used, so that the broker asks for another one; and one of somebody else. */
    private static void tokens(String address, String secret) throws Exception {
        SecretKey key = AuthTokenUtils.decodeSecretKey(Base64.getDecoder().decode(secret));
        try (PulsarClient named = builder(address).authentication(AuthenticationFactory.token(() ->
            AuthTokenUtils.createToken(key, "alice", Optional.of(new Date(System.currentTimeMillis() + 2_500))))).build()) {
            Producer<byte[]> producer = named.newProducer().topic(TOPICS + "java-tokens").producerName("alice").create();
            for (int number = 0; number < 4; number++) {
                byte[] value = bytes("by alice");
                sent(producer, number, producer.newMessage().sequenceId(number).value(value).send(), value, null, null);
                Thread.sleep(1_000);
            }
            producer.close();
        }
        SecretKey other = AuthTokenUtils.createSecretKey(io.jsonwebtoken.SignatureAlgorithm.HS256);
        try (PulsarClient stranger = builder(address).authentication(
            AuthenticationFactory.token(AuthTokenUtils.createToken(other, "mallory", Optional.empty()))).build()) {
            failing("CONNECT", () -> stranger.newProducer().topic(TOPICS + "java-tokens").create());
        }
    }

    private static ProducerBuilder<byte[]> plain(String topic, String name) {
        ProducerBuilder<byte[]> found = client.newProducer().topic(TOPICS + topic).enableBatching(false);
        return name == null ? found : found.producerName(name);
    }

    private static ConsumerBuilder<byte[]> consumer(String topic, String subscription) {
        return client.newConsumer().topic(TOPICS + topic).subscriptionName(subscription)
            .consumerName(subscription + "-" + topic).subscriptionInitialPosition(SubscriptionInitialPosition.Earliest);
    }

    private static int asked(String method, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(admin + path))
            .method(method, HttpRequest.BodyPublishers.noBody()).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    }

    private static byte[] pem(String kind, Key key) {
        String text = Base64.getMimeEncoder(64, bytes("\n")).encodeToString(key.getEncoded());
        return bytes("-----BEGIN " + kind + " KEY-----\n" + text + "\n-----END " + kind + " KEY-----\n");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    // The journal.

    private static void failing(String operation, Call call) throws Exception {
        try {
            call.run();
        } catch (PulsarClientException error) {
            ObjectNode line = JsonNodeFactory.instance.objectNode().put("operation", operation);
            line.put("error", error.getClass().getSimpleName().replaceAll("Exception$", ""));
            print("FAILED", line);
            return;
        }
        throw new IllegalStateException("was not refused: " + operation);
    }

    private static void told(String text) throws Exception {
        print("TOLD", JsonNodeFactory.instance.textNode(text));
    }

    private static void sent(Producer<?> producer, long sequence, MessageId id, byte[] payload, String key, String sealed)
            throws Exception {
        ObjectNode line = place(producer.getTopic(), id).put("producer", producer.getProducerName());
        line.put("sequence", sequence).put("payload", hex(payload)).put("key", key).put("sealed", sealed);
        print("SENT", line);
    }

    private static List<Message<byte[]>> got(Consumer<byte[]> consumer, int count, String... sealed) throws Exception {
        List<Message<byte[]>> found = new ArrayList<>();
        while (found.size() < count) {
            Message<byte[]> message = consumer.receive(PATIENCE, TimeUnit.SECONDS);
            if (message == null) throw new IllegalStateException("nothing came to " + consumer.getConsumerName());
            found.add(got(consumer, message, sealed.length == 0 ? null : sealed[0]));
        }
        return found;
    }

    private static <T> Message<T> got(Consumer<?> consumer, Message<T> message, String sealed) throws Exception {
        ObjectNode line = place(message.getTopicName(), message.getMessageId()).put("consumer", consumer.getConsumerName());
        byte[] payload = message.getValue() == null ? null : message.getData();
        line.put("payload", hex(payload)).put("key", message.getKey());
        print("GOT", line.put("redelivered", message.getRedeliveryCount()).put("sealed", sealed));
        return message;
    }

    private static void acked(Consumer<?> consumer, Message<?> message) throws Exception {
        consumer.acknowledge(message.getMessageId());
        acked(consumer, message.getTopicName(), message.getMessageId());
    }

    private static void acked(Consumer<?> consumer, MessageId id) throws Exception {
        acked(consumer, consumer.getTopic(), id);
    }

    private static void acked(Consumer<?> consumer, String topic, MessageId id) throws Exception {
        print("ACKED", place(topic, id).put("consumer", consumer.getConsumerName()));
    }

    private static ObjectNode place(String topic, MessageId id) {
        MessageIdAdv at = (MessageIdAdv) id;
        ObjectNode found = JsonNodeFactory.instance.objectNode().put("topic", topic);
        found.putArray("id").add(at.getLedgerId()).add(at.getEntryId()).add(at.getBatchIndex());
        return found;
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }

    private static synchronized void print(String word, Object content) throws Exception {
        System.out.println(word + " " + MAPPER.writeValueAsString(content));
        System.out.flush();
    }
}
