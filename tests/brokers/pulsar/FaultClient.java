import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.transaction.Transaction;

/** A client that does not end its transaction in time. Argument: the broker's address. */
public class FaultClient {
    private static final int TIMEOUT = 3;

    public static void main(String[] arguments) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl("pulsar://" + arguments[0]).enableTransaction(true).build();
                Producer<byte[]> producer = client.newProducer().topic("persistent://public/default/late")
                        .sendTimeout(0, TimeUnit.SECONDS).create()) {
            Transaction transaction = client.newTransaction().withTransactionTimeout(TIMEOUT, TimeUnit.SECONDS).build().get();
            producer.newMessage(transaction).value("late".getBytes(StandardCharsets.UTF_8)).sendAsync().get();
            Thread.sleep(TimeUnit.SECONDS.toMillis(2 * TIMEOUT));
            try {
                transaction.commit().get();
            } catch (Exception error) {
                System.out.println("failed " + error.getMessage());
            }
        }
        System.exit(0);
    }
}
