import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * Clients that meet faults. Arguments: what to do, and the name server's address.
 *
 * send: a message each 200 ms until the standard input ends. flood: batches of messages that nobody waits for.
 * subscribe: two consumers of one group that want different tags.
 */
public class FaultClient {
    private static final String TOPIC = "faults";
    private static final int FLOOD = 100;
    private static final int ROUNDS = 5;

    public static void main(String[] arguments) throws Exception {
        String names = arguments[1];
        DefaultMQProducer producer = new DefaultMQProducer("sending");
        producer.setNamesrvAddr(names);
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName("producer");
        producer.setSendMsgTimeout(2000);
        producer.setPollNameServerInterval(1000);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.start();
        awaitRoute(producer);
        switch (arguments[0]) {
            case "send" -> send(producer);
            case "flood" -> flood(producer);
            default -> subscribe(names);
        }
        System.exit(0);
    }

    private static Message message(String tag) {
        return new Message(TOPIC, tag, "something".getBytes(StandardCharsets.UTF_8));
    }

    /** Sends until one message is stored, which creates the topic. */
    private static void awaitRoute(DefaultMQProducer producer) throws Exception {
        for (int tries = 0; tries < 60; tries++) {
            try {
                producer.send(message("first"));
                System.out.println("stored");
                return;
            } catch (Exception error) {
                Thread.sleep(1000);
            }
        }
        throw new IllegalStateException("nothing is stored");
    }

    private static void send(DefaultMQProducer producer) throws Exception {
        while (System.in.available() == 0) {
            try {
                producer.send(message("again"));
                System.out.println("stored");
            } catch (Exception error) {
                System.out.println("failed " + error.getClass().getSimpleName());
            }
            Thread.sleep(200);
        }
    }

    private static void flood(DefaultMQProducer producer) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            CountDownLatch answers = new CountDownLatch(FLOOD);
            for (int number = 0; number < FLOOD; number++) {
                producer.send(message("flood"), new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        answers.countDown();
                    }

                    @Override
                    public void onException(Throwable error) {
                        answers.countDown();
                    }
                });
            }
            answers.await(20, TimeUnit.SECONDS);
        }
    }

    private static void subscribe(String names) throws Exception {
        for (String tag : new String[] {"red", "blue"}) {
            DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("group");
            consumer.setNamesrvAddr(names);
            consumer.setClientIP("127.0.0.1");
            consumer.setInstanceName(tag);
            consumer.subscribe(TOPIC, tag);
            consumer.registerMessageListener((MessageListenerConcurrently) (found, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
            consumer.start();
            Thread.sleep(1000);
        }
        Thread.sleep(4000);
    }
}
