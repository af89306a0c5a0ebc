// The OneMQ model from node, through npm's redis client: what a program in another language does with it.
import assert from "node:assert/strict";
import { createClient } from "redis";

const client = createClient({ url: process.argv[2], RESP: Number(process.argv[3]) });
client.on("error", (error) => { console.error(error); process.exit(1); });
await client.connect();

// RESP2 tells maps as flat arrays.
const call = (...words) => client.sendCommand(words.map(String));
const map = (reply) => {
  if (reply instanceof Map) return Object.fromEntries(reply);
  if (Array.isArray(reply)) return Object.fromEntries(
    Array.from({ length: reply.length / 2 }, (_, place) => [reply[2 * place], reply[2 * place + 1]]));
  return { ...reply };
};

assert.equal(await call("MQ.TOPIC", "CREATE", "orders", "PARTITIONS", 2), "OK");
assert.equal(await call("MQ.GROUP", "CREATE", "orders", "points", "RETRY", "NONE", 2, "FILTER", "created || paid"), "OK");

const sent = map(await call("MQ.SEND", "orders", '{"orderno": 10001}', "KEY", "10001", "TAG", "created",
  "HEADER", "shop", "north"));
assert.equal(sent.topic, "orders");
assert.match(sent.id, /^[0-9a-f]+-[0-9a-f]+-[0-9a-f]+$/);
await call("MQ.SEND", "orders", "not for points", "TAG", "cancelled");
const once = map(await call("MQ.SEND", "orders", "once", "TAG", "paid", "IDEMPOTENCY", "payment-7"));
const again = map(await call("MQ.SEND", "orders", "once", "TAG", "paid", "IDEMPOTENCY", "payment-7"));
assert.equal(Number(again.duplicate), 1);
assert.equal(again.id, once.id);

const later = map(await call("MQ.SEND", "orders", "tomorrow", "TAG", "paid", "DELAY", "1d"));
assert.equal(await call("MQ.SCHEDULE", "CANCEL", later.schedule), 1);

const messages = (await call("MQ.RECEIVE", "orders", "points", "COUNT", 10, "WAIT", "10s")).map(map);
assert.deepEqual(messages.map((message) => message.tag).sort(), ["created", "paid"]);
const created = messages.find((message) => message.tag === "created");
assert.equal(created.id, sent.id);
assert.equal(created.key, "10001");
assert.equal(map(created.headers).shop, "north");
assert.equal(JSON.parse(created.body).orderno, 10001);
assert.equal(await call("MQ.ACK", "orders", "points", created.receipt), 1);

const paid = messages.find((message) => message.tag === "paid");
assert.equal(await call("MQ.NACK", "orders", "points", paid.receipt, "DELAY", 0, "REASON", "try again"), 1);
const [secondTime] = (await call("MQ.RECEIVE", "orders", "points", "WAIT", "10s")).map(map);
assert.equal(secondTime.id, paid.id);
assert.equal(Number(secondTime.deliveries), 2);
assert.equal(await call("MQ.REJECT", "orders", "points", secondTime.receipt, "REASON", "no such card"), 1);

const [dead] = (await call("MQ.DEAD", "LIST", "orders", "GROUP", "points")).map(map);
assert.equal(dead.id, paid.id);
assert.equal(map(dead.dead).reason, "no such card");
assert.equal(Number(map(await call("MQ.DEAD", "REPLAY", "orders", "GROUP", "points")).sent), 1);

const found = (await call("MQ.SEARCH", "orders", "KEY", "10001")).map(map);
assert.deepEqual(found.map((message) => message.id), [sent.id]);
const group = map(await call("MQ.GROUP", "INFO", "orders", "points"));
assert.equal(Number(group.lag), 1);

await assert.rejects(call("MQ.TOPIC", "INFO", "nowhere"), /nowhere/);
console.log("ok");
await client.close();
