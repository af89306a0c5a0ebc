"""The one broker that clients see: leader of every partition and coordinator of everything."""

NODE_ID = 1
LEADER_EPOCH = 0
