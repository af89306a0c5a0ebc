// Transactions of the Java client: java Transacting.java <bootstrap> <topic>. Prints what happened, a line for each step.

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

public class Transacting {
    static String bootstrap;
    static String topic;

    static Properties settings(String... pairs) {
        Properties made = new Properties();
        made.put("bootstrap.servers", bootstrap);
        for (int at = 0; at < pairs.length; at += 2) {
            made.put(pairs[at], pairs[at + 1]);
        }
        for (String what : List.of("key", "value")) {
            made.put(what + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            made.put(what + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        return made;
    }

    static KafkaProducer<String, String> producer() {
        KafkaProducer<String, String> made = new KafkaProducer<>(settings("transactional.id", topic));
        made.initTransactions();
        return made;
    }

    static ProducerRecord<String, String> to(String name, String value) {
        return new ProducerRecord<>(name, 0, "key", value);
    }

    static void read(String name, String isolation, int count) {
        try (KafkaConsumer<String, String> reader = new KafkaConsumer<>(settings("isolation.level", isolation))) {
            reader.assign(List.of(new TopicPartition(name, 0)));
            reader.seekToBeginning(reader.assignment());
            StringBuilder found = new StringBuilder(isolation);
            int left = count;
            while (left > 0) {
                for (ConsumerRecord<String, String> record : reader.poll(Duration.ofMillis(100))) {
                    found.append(" ").append(record.offset()).append(":").append(record.value());
                    left--;
                }
            }
            System.out.println(found);
        }
    }

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1];
        KafkaProducer<String, String> first = producer();
        for (String value : List.of("a", "b", "never", "c")) {
            first.beginTransaction();
            boolean hasOffset = first.send(to(topic, value)).get().hasOffset();
            if (value.equals("never")) {
                first.abortTransaction();
            } else {
                first.commitTransaction();
            }
            System.out.println(value + (hasOffset ? " has an offset" : " has no offset yet"));
        }
        read(topic, "read_committed", 3);
        read(topic, "read_uncommitted", 3);
        Properties group = settings("group.id", topic, "auto.offset.reset", "earliest", "enable.auto.commit", "false");
        try (KafkaConsumer<String, String> reader = new KafkaConsumer<>(group)) {
            reader.subscribe(List.of(topic));
            TopicPartition place = new TopicPartition(topic, 0);
            int copied = 0;
            while (copied < 3) {
                for (ConsumerRecord<String, String> record : reader.poll(Duration.ofMillis(100))) {
                    first.beginTransaction();
                    first.send(to(topic + "-copy", record.value()));
                    OffsetAndMetadata next = new OffsetAndMetadata(record.offset() + 1, "copied");
                    first.sendOffsetsToTransaction(Map.of(place, next), reader.groupMetadata());
                    first.commitTransaction();
                    copied++;
                }
            }
            OffsetAndMetadata committed = reader.committed(java.util.Set.of(place)).get(place);
            System.out.println("committed " + committed.offset() + " " + committed.metadata());
        }
        read(topic + "-copy", "read_committed", 3);
        first.beginTransaction();
        first.send(to(topic, "zombie")).get();
        KafkaProducer<String, String> second = producer();
        try {
            first.commitTransaction();
            System.out.println("a zombie committed");
        } catch (KafkaException problem) {
            System.out.println(problem.getClass().getSimpleName());
        }
        first.close(Duration.ZERO);
        second.beginTransaction();
        second.send(to(topic, "heir"));
        second.commitTransaction();
        second.close();
        read(topic, "read_committed", 4);
    }
}
