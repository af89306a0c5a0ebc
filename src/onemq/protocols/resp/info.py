"""INFO: the server about itself, in the sections and names that Redis's tools read.

What is not known is left out (docs/protocols/resp.md lists it), and 0 stands where it is the truth. Nothing is counted
for each request but how many there were; so there are no statistics of single commands.
"""

import platform
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import onemq
from onemq.protocols.resp.command import Argument, Command
from onemq.protocols.resp.version import REDIS_VERSION
from onemq.units import format_bytes

if TYPE_CHECKING:
    from onemq.protocols.resp.service import RespService
    from onemq.protocols.resp.session import RespSession

Section = Callable[["RespService"], Mapping[str, object]]


def info(session: "RespSession", request: list[bytes]) -> bytes:
    """INFO [section ...]: all of them without arguments, and for `all`, `default` and `everything`."""
    asked = {word.decode(errors="replace").lower() for word in request[1:]}
    every = not asked or asked & {"all", "default", "everything"}
    parts = [
        _text(title, section(session.service))
        for title, section in _SECTIONS.items()
        if every or title.lower() in asked
    ]
    return session.replies.verbatim("\r\n".join(parts))


def _text(title: str, facts: Mapping[str, object]) -> str:
    return f"# {title}\r\n" + "".join(f"{key}:{_value(value)}\r\n" for key, value in facts.items())


def _value(value: object) -> object:
    """A value on one line; a mapping in Redis's form `key=value,key=value`."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={inner}" for key, inner in value.items())
    if isinstance(value, bool):
        return int(value)
    return str(value).replace("\r", " ").replace("\n", " ")


def _server(service: "RespService") -> Mapping[str, object]:
    now_ms = service.now_ms
    uptime_s = max(0, now_ms - service.facts.started_ms) // 1000
    return {
        "redis_version": REDIS_VERSION,
        "onemq_version": onemq.__version__,
        "redis_mode": "standalone",
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "arch_bits": 64,
        "process_id": service.facts.process_id,
        "run_id": service.facts.run_id,
        "tcp_port": service.facts.port,
        "server_time_usec": now_ms * 1000,
        "uptime_in_seconds": uptime_s,
        "uptime_in_days": uptime_s // 86400,
        "config_file": service.facts.config_file,
        "io_threads_active": 0,
    }


def _clients(service: "RespService") -> Mapping[str, object]:
    return {
        "connected_clients": len(service.sessions),
        "cluster_connections": 0,
        "maxclients": service.facts.connections_max,
        "connections_of_all_protocols": service.facts.connections(),
        "blocked_clients": sum(session.blocked for session in service.sessions.values()),
        "tracking_clients": 0,
        "pubsub_clients": sum(session.subscriptions is not None for session in service.sessions.values()),
    }


def _memory(service: "RespService") -> Mapping[str, object]:
    """What the system says that the process has; nobody else counts what is used."""
    used_bytes, peak_bytes = service.facts.memory_bytes(), service.facts.memory_peak_bytes()
    machine_bytes = service.facts.machine_bytes
    machine = {"total_system_memory": machine_bytes, "total_system_memory_human": format_bytes(machine_bytes)}
    return {
        "used_memory": used_bytes,
        "used_memory_human": format_bytes(used_bytes),
        "used_memory_rss": used_bytes,
        "used_memory_rss_human": format_bytes(used_bytes),
        "used_memory_peak": peak_bytes,
        "used_memory_peak_human": format_bytes(peak_bytes),
        "used_memory_peak_perc": f"{used_bytes / max(peak_bytes, 1):.2%}",
        **(machine if machine_bytes else {}),
        "used_memory_lua": 0,
        "used_memory_lua_human": "0B",
        "number_of_functions": 0,
        "number_of_libraries": 0,
        "maxmemory": 0,
        "maxmemory_human": "0B",
        "maxmemory_policy": "noeviction",
        "mem_fragmentation_ratio": "1.00",
        "mem_fragmentation_bytes": 0,
        "mem_replication_backlog": 0,
        "mem_total_replication_buffers": 0,
        "mem_clients_slaves": 0,
        "mem_cluster_links": 0,
        "active_defrag_running": 0,
        "lazyfree_pending_objects": 0,
    }


def _persistence(service: "RespService") -> Mapping[str, object]:
    problem = service.core.read_only
    return {
        "loading": 0,
        "async_loading": 0,
        "rdb_bgsave_in_progress": 0,
        "aof_enabled": 1,
        "aof_rewrite_in_progress": 0,
        "aof_rewrite_scheduled": 0,
        "aof_last_write_status": "err" if problem else "ok",
        "read_only": problem or "no",
    }


def _stats(service: "RespService") -> Mapping[str, object]:
    return {
        "total_connections_received": service.sessions_ever - service.sessions_before,
        "total_commands_processed": service.commands_processed,
        "rejected_connections": service.facts.connections_refused() - service.refused_before,
        "total_net_repl_input_bytes": 0,
        "total_net_repl_output_bytes": 0,
        "sync_full": 0,
        "sync_partial_ok": 0,
        "sync_partial_err": 0,
        "evicted_keys": 0,
        "evicted_clients": 0,
        "total_eviction_exceeded_time": 0,
        "current_eviction_exceeded_time": 0,
        "pubsub_channels": len(service.pubsub.channels),
        "pubsub_patterns": len(service.pubsub.patterns),
        "pubsubshard_channels": len(service.pubsub.shard_channels),
        "total_forks": 0,
        "tracking_total_keys": 0,
        "tracking_total_items": 0,
        "tracking_total_prefixes": 0,
        "total_error_replies": sum(service.errors.values()),
    }


def _replication(service: "RespService") -> Mapping[str, object]:
    """There are no replicas: it is what a Redis tells that never had one."""
    return {
        "role": "master",
        "connected_slaves": 0,
        "master_failover_state": "no-failover",
        "master_replid": service.facts.replication_id,
        "master_replid2": "0" * 40,
        "master_repl_offset": 0,
        "second_repl_offset": -1,
        "repl_backlog_active": 0,
        "repl_backlog_size": 0,
        "repl_backlog_first_byte_offset": 0,
        "repl_backlog_histlen": 0,
    }


def _processor(service: "RespService") -> Mapping[str, object]:
    used = service.facts.processor_seconds()
    names = {"process": "", "children": "_children", "thread": "_main_thread"}
    return {
        f"used_cpu_{where}{names[whose]}": f"{seconds:.6f}"
        for whose, both in used.items()
        for where, seconds in zip(("sys", "user"), both, strict=True)
    }


def _modules(service: "RespService") -> Mapping[str, object]:
    return {}


def _errors(service: "RespService") -> Mapping[str, object]:
    return {f"errorstat_{word}": {"count": count} for word, count in sorted(service.errors.items())}


def _cluster(service: "RespService") -> Mapping[str, object]:
    return {"cluster_enabled": 0}


def _keyspace(service: "RespService") -> Mapping[str, object]:
    keys = service.core.keys
    count = keys.count()
    return {"db0": {"keys": count, "expires": len(keys.expires_at_ms), "avg_ttl": 0}} if count else {}


def _onemq(service: "RespService") -> Mapping[str, object]:
    return service.core.stats()


_SECTIONS: Mapping[str, Section] = {
    "Server": _server,
    "Clients": _clients,
    "Memory": _memory,
    "Persistence": _persistence,
    "Stats": _stats,
    "Replication": _replication,
    "CPU": _processor,
    "Modules": _modules,
    "Errorstats": _errors,
    "Cluster": _cluster,
    "Keyspace": _keyspace,
    "OneMQ": _onemq,
}

COMMANDS: tuple[Command, ...] = (
    Command(
        "info", -1, info, "Get information and statistics about the server", "1.0.0", "server",
        flags=("loading", "stale"), categories=("dangerous",),
        tips=("nondeterministic_output", "request_policy:all_shards", "response_policy:special"),
        arguments=(Argument("section", flags=("optional", "multiple")),),
    ),
)  # fmt: skip
