"""What a measurement is, and how a run of them is shown: a table for people, JSON for programs."""

import json
import os
import platform
import subprocess
import sys
import sysconfig
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Result:
    """One number beside its target."""

    name: str
    value: float
    unit: str
    target: float | None
    more_is_better: bool = True
    beside: dict[str, float] = field(default_factory=dict)
    """What it was made of: for a comparison the numbers of both, as `ours_rate` and `redis_rate` or `kafka_rate`."""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without a target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.more_is_better else self.value <= self.target


def is_wanted(only: str, name: str) -> bool:
    """Whether a measurement has one of the words in its name that were asked for; with none, all are wanted."""
    return any(word in name for word in only.split("|"))


def machine() -> dict[str, str]:
    """Where this ran."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip() or "unknown",
        "python": f"{platform.python_version()} {platform.python_compiler()} ({sys.executable})",
        "optimised_python": str("--enable-optimizations" in _configure_options()),
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "kernel": platform.release(),
        "load": " ".join(f"{each:.2f}" for each in os.getloadavg()),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _configure_options() -> str:
    return str(sysconfig.get_config_var("CONFIG_ARGS") or "")


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def show(results: list[Result], where: dict[str, str]) -> None:
    """Prints the table."""
    from rich.console import Console
    from rich.table import Table

    title = f"OneMQ {where['commit']} on {where['cpu']}, {where['cores']} cores, Python {where['python']}"
    table = Table("measurement", title=title)
    columns = ["value", "unit", "target", ""]
    compared = any(each.beside for each in results)
    for column in [*columns, "OneMQ", "the other", "p50 ms", "p99 ms", "CPU µs"] if compared else columns:
        table.add_column(column, justify="left" if column == "unit" else "right")
    for each in results:
        sign = "at least" if each.more_is_better else "at most"
        target = f"{sign} {each.target:,g}" if each.target is not None else ""
        met = {None: "", True: "[green]ok[/green]", False: "[red]missed[/red]"}[each.met]
        table.add_row(each.name, _number(each.value), each.unit, target, met, *_both(each.beside))
    Console(width=190 if compared else 150).print(table)


def _number(value: float) -> str:
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _both(beside: dict[str, float]) -> list[str]:
    """The columns of a comparison: the two values, then latencies and processor time as OneMQ's / the other's."""
    if not beside:
        return []
    for key, unit in (("mb", "MB"), ("mb_rate", "MB/s"), ("cpu_ms", "ms/MB"), ("s", "s")):
        if f"ours_{key}" in beside:
            both = (f"ours_{key}", _other(beside, key))
            return [f"{_number(beside[name])} {unit}" for name in both if name in beside]
    if "broker_us" in beside:
        return ["", "", "", "", ", ".join(f"{name.removesuffix('_us')} {us:.2g}" for name, us in beside.items())]
    rates = [f"{_number(beside[name])}/s" if name in beside else "" for name in ("ours_rate", _other(beside, "rate"))]
    return [*rates, *(_pair(beside, name) for name in ("p50_ms", "p99_ms", "cpu_us"))]


def _other(beside: dict[str, float], name: str) -> str:
    return f"kafka_{name}" if f"kafka_{name}" in beside else f"redis_{name}"


def _pair(beside: dict[str, float], name: str) -> str:
    ours, theirs = beside.get(f"ours_{name}"), beside.get(_other(beside, name))
    return "" if ours is None or theirs is None else f"{ours:.3g} / {theirs:.3g}"


def write(results: list[Result], where: dict[str, str], path: Path) -> None:
    """Writes the JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(each) | {"met": each.met} for each in results]
    path.write_text(json.dumps({"machine": where, "results": rows}, indent=2) + "\n")
