// The Java client against a broker, from the source: java -cp ... RoundTrip.java ADDRESS TOPIC GROUP
// Prints what test_java_client.py checks.

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;

public class RoundTrip {
    static final int MESSAGES = 100;
    static final long DEADLINE_MS = 60_000;
    static String address, topic, group;

    static Properties properties(String... pairs) {
        Properties found = new Properties();
        found.put("bootstrap.servers", address);
        for (String side : List.of("key", "value")) {
            found.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            found.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        for (int at = 0; at < pairs.length; at += 2) found.put(pairs[at], pairs[at + 1]);
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        group = arguments[2];
        try (Admin admin = Admin.create(properties())) {
            admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))).all().get();
            System.out.println("partitions " + admin.describeTopics(List.of(topic)).allTopicNames().get()
                .get(topic).partitions().size());
        }
        produce();
        copy();
        share();
    }

    static void produce() throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties("compression.type", "lz4"))) {
            for (int number = 0; number < MESSAGES; number++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, "key-" + number, "value-" + number);
                record.headers().add("number", Integer.toString(number).getBytes());
                producer.send(record).get();
            }
        }
    }

    /** Reads in a group, and writes what it read with its offsets in transactions, one of which is taken back. */
    static void copy() throws Exception {
        String copies = topic + "-copy";
        try (Admin admin = Admin.create(properties())) {
            admin.createTopics(List.of(new NewTopic(copies, 1, (short) 1))).all().get();
        }
        Properties reading = properties("group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "max.poll.records", "10");
        boolean aborted = false;
        int copied = 0;
        long giveUp = System.currentTimeMillis() + DEADLINE_MS;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(reading);
             KafkaProducer<String, String> producer = new KafkaProducer<>(properties("transactional.id", group + "-tx"))) {
            producer.initTransactions();
            consumer.subscribe(List.of(topic));
            while (copied < MESSAGES && System.currentTimeMillis() < giveUp) {
                var records = consumer.poll(Duration.ofMillis(500));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> places = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(copies, record.key(), record.value()));
                    places.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(places, consumer.groupMetadata());
                if (!aborted) {
                    producer.abortTransaction();
                    aborted = true;
                    for (TopicPartition place : places.keySet()) {
                        var committed = consumer.committed(java.util.Set.of(place)).get(place);
                        consumer.seek(place, committed == null ? 0 : committed.offset());
                    }
                } else {
                    producer.commitTransaction();
                    copied += records.count();
                }
            }
        }
        System.out.println("copied " + copied);
        try (Admin admin = Admin.create(properties())) {
            long committed = 0;
            for (var place : admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values())
                committed += place.offset();
            System.out.println("committed " + committed);
        }
        List<String> values = new ArrayList<>();
        Properties all = properties("isolation.level", "read_committed", "auto.offset.reset", "earliest",
            "enable.auto.commit", "false");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(all)) {
            consumer.assign(List.of(new TopicPartition(copies, 0)));
            while (values.size() < MESSAGES && System.currentTimeMillis() < giveUp)
                consumer.poll(Duration.ofMillis(500)).forEach(record -> values.add(record.value()));
        }
        System.out.println("values " + values.stream().distinct().count() + " of " + values.size());
    }

    /** A share group with explicit acknowledgement: every tenth is given back once, every twentieth refused. */
    static void share() throws Exception {
        String shareGroup = group + "-share";
        try (Admin admin = Admin.create(properties())) {
            var resource = new org.apache.kafka.common.config.ConfigResource(
                org.apache.kafka.common.config.ConfigResource.Type.GROUP, shareGroup);
            var earliest = new org.apache.kafka.clients.admin.AlterConfigOp(
                new org.apache.kafka.clients.admin.ConfigEntry("share.auto.offset.reset", "earliest"),
                org.apache.kafka.clients.admin.AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(earliest))).all().get();
        }
        Properties sharing = properties("group.id", shareGroup, "share.acknowledgement.mode", "explicit");
        int accepted = 0, released = 0, rejected = 0, again = 0;
        long giveUp = System.currentTimeMillis() + DEADLINE_MS;
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(sharing)) {
            consumer.subscribe(List.of(topic));
            while (accepted + rejected < MESSAGES && System.currentTimeMillis() < giveUp) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    Header header = record.headers().lastHeader("number");
                    int number = Integer.parseInt(new String(header.value()));
                    int deliveries = record.deliveryCount().orElse((short) 0);
                    if (number % 20 == 0) {
                        consumer.acknowledge(record, AcknowledgeType.REJECT);
                        rejected++;
                    } else if (number % 10 == 0 && deliveries == 1) {
                        consumer.acknowledge(record, AcknowledgeType.RELEASE);
                        released++;
                    } else {
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                        accepted++;
                        if (deliveries > 1) again++;
                    }
                }
                for (var outcome : consumer.commitSync().entrySet())
                    outcome.getValue().ifPresent(error -> System.out.println("failed " + outcome.getKey() + " " + error));
            }
        }
        System.out.println("accepted " + accepted + " rejected " + rejected + " released " + released + " again " + again);
    }
}
