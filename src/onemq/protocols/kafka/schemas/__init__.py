"""What travels in requests and responses: a module for each API, a class for each structure.

Classes and fields have the names of Kafka's own message definitions (of Kafka 4.4), fields in snake_case. What those
say of versions, null and tags is written as notes of a field; see schema.py. Older versions than Kafka 4 takes are left
out."""
