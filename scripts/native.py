"""Compiles the modules on the way of a message to C, with mypyc.

    python scripts/native.py             builds src/onemq/_native, and says in a line if that cannot be
    python scripts/native.py --to DIR    builds it elsewhere, for a wheel

The modules are compiled as one group, so that calls among them are calls in C. src/onemq/native.py uses them if they
were made of exactly the sources that are there, and leaves them alone otherwise.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setuptools import Extension

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
WORK = ROOT / "build" / "native"
sys.path.insert(0, str(SOURCES))

from onemq.native import FOLDER, MANIFEST, SUFFIX, fingerprint  # noqa: E402

MODULES = {
    "log": """batch batch_builder records engine pending ahead behind scan segment index indexing openfiles topicfiles
        partition commit local recent""",
    "core": """stage partition sending delivery cursor group group_table groups claims receive supply receiving
        reading decoding decoded lookups stream streams stream_groups stream_ids removing waiting deadlines timers
        wheel schedule parking housekeeping topics producers marked bitmap fetching measure core""",
    "core/keyspace": "table keyspace lists strings deadlines watches",
    "net": "turn alarm connection outgoing lingering regulars trust",
    "protocols/kafka": "session framing call batch places primitives topics fetch_sessions",
    "protocols/kafka/handlers": "produce fetch",
    "protocols/resp": "session codec shape crowd replies runs lists strings command arguments",
    "protocols/resp/streams": "adding consuming reading fields entries ids",
}
"""Those that every message passes. What defines msgspec structures must stay plain: mypyc drops their options."""

OPTIMISATION = "1"
"""Of the C compiler. With 2 a request takes one in a hundred instructions less, and the build a third longer."""


def obstacle() -> str | None:
    """Why nothing can be compiled here."""
    compiler = _setting("CC") or ["cc"]
    if os.environ.get("ONEMQ_COMPILE") == "0":
        return "ONEMQ_COMPILE=0"
    if shutil.which(compiler[0]) is None:
        return f"there is no C compiler ({compiler[0]})"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers are missing (Debian: apt-get install python3-dev)"
    try:
        import mypyc.build  # noqa: F401
    except ImportError:
        return "mypyc is missing (pip install mypy)"
    return None


def is_fresh(folder: Path) -> bool:
    """Whether the folder holds what would be built."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    wanted = {"suffix": SUFFIX, "fingerprint": fingerprint(SOURCES / "onemq"), "modules": _names()}
    return bool(manifest == wanted)


def build(folder: Path) -> None:
    """Makes the compiled modules; those that were there before are gone. Ends the process if sources have mistakes."""
    shutil.rmtree(folder, ignore_errors=True)
    made_of = fingerprint(SOURCES / "onemq")
    WORK.mkdir(parents=True, exist_ok=True)
    os.chdir(SOURCES)  # tracebacks then name files as seen from here
    with redirect_stdout(StringIO()) as told:
        try:
            extensions = _to_c()
        except SystemExit:
            print(told.getvalue(), file=sys.stderr)
            raise
    compile_all(extensions, folder)
    manifest = {"suffix": SUFFIX, "fingerprint": made_of, "modules": _names()}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _to_c() -> "list[Extension]":
    from mypyc.build import mypycify

    return mypycify(
        [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={WORK / 'types'}", *_files()],
        opt_level=OPTIMISATION,
        debug_level="0",
        multi_file=True,
        group_name="onemq",
        target_dir=str(WORK),
    )


def compile_all(extensions: "list[Extension]", folder: Path) -> None:
    """From C to libraries, on all cores. Only what has changed since the last time is compiled."""
    objects = {source: _object(extension, source) for extension in extensions for source in extension.sources}
    libraries = [
        _link([objects[source][1] for source in each.sources], folder / (each.name + SUFFIX)) for each in extensions
    ]
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_run, [command for command, made in objects.values() if not made.exists()]))
        list(pool.map(_run, libraries))
    for old in set((WORK / "objects").iterdir()) - {made for _, made in objects.values()}:
        old.unlink()


def _files() -> Iterator[str]:
    """The sources to compile, seen from the folder of all."""
    for folder, names in MODULES.items():
        yield from (f"onemq/{folder}/{name}.py" for name in names.split())


def _names() -> list[str]:
    """What can be imported: the modules, and the library that they share."""
    return ["onemq__mypyc", *(file.removesuffix(".py").replace("/", ".") for file in _files())]


def _object(extension: "Extension", source: str) -> tuple[list[str], Path]:
    """What compiles a file, and to what: named after all that goes into it, so that it need not be made again."""
    folder = WORK / "objects"
    folder.mkdir(exist_ok=True)
    include = [f"-I{place}" for place in (*extension.include_dirs, sysconfig.get_path("include"))]
    command = [*_setting("CC"), *_setting("CFLAGS"), *_setting("CCSHARED"), *include, *extension.extra_compile_args]
    headers = sorted(path for place in extension.include_dirs for path in Path(place).glob("*.h"))
    digest = sha256(repr((command, SUFFIX)).encode())
    for path in (*headers, Path(source)):
        digest.update(path.read_bytes())
    made = folder / f"{Path(source).stem}-{digest.hexdigest()}.o"
    return [*command, "-c", source, "-o", str(made)], made


def _link(objects: list[Path], library: Path) -> list[str]:
    return [*_setting("LDSHARED"), *map(str, objects), "-o", str(library)]


def _setting(name: str) -> list[str]:
    return shlex.split(sysconfig.get_config_var(name) or "")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="DIR")
    folder = parser.parse_args().to.resolve()
    reason = obstacle()
    if reason is not None:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"OneMQ runs as plain Python: {reason}")
    elif not is_fresh(folder):
        print("compiling OneMQ, about a minute (ONEMQ_COMPILE=0 leaves it as plain Python)", flush=True)
        build(folder)


if __name__ == "__main__":
    main()
