"""Compiled modules: found in `_native` beside this file, used only if they were made of exactly these sources.

scripts/native.py makes them and leaves a manifest. Whoever edits a source runs the sources, and so does everyone
without compiled modules: both forms do the same, one of them quicker. ONEMQ_PLAIN=1 runs the sources in any case.

The packages with compiled modules call `use` when they are imported, so that a process without a broker, a client's
for instance, pays nothing.
"""

import json
import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

SOURCES = Path(__file__).parent
FOLDER = SOURCES / "_native"
MANIFEST = "manifest.json"
PACKAGES = ("core", "log", "net", "protocols")
"""Those with compiled modules."""
SUFFIX = EXTENSION_SUFFIXES[0]

_form = ""


def fingerprint(sources: Path) -> str:
    """Stands for the contents of all modules that count: a compiled one may hold what it found in another."""
    places = [sources.glob("*.py"), *(sources.joinpath(package).rglob("*.py") for package in PACKAGES)]
    found = sha256()
    for path in sorted(path for place in places for path in place):
        content = path.read_bytes()
        found.update(b"%b %d\n" % (path.relative_to(sources).as_posix().encode(), len(content)))
        found.update(content)
    return found.hexdigest()


class Finder:
    """Finds the modules that were compiled, before anyone looks for their sources."""

    def __init__(self, folder: Path, modules: Sequence[str]) -> None:
        self._folder = folder
        self._modules = frozenset(modules)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import system asks."""
        if name not in self._modules:
            return None
        file = str(self._folder / (name + SUFFIX))
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))


def choose(sources: Path, folder: Path, plain: bool) -> tuple[str, Finder | None]:
    """What is to run, for people, and what finds it; without a finder the sources run."""
    if plain:
        return "plain, as ONEMQ_PLAIN asks", None
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return "plain, not compiled", None
    if manifest["suffix"] != SUFFIX:
        return "plain, compiled for another Python", None
    if manifest["fingerprint"] != fingerprint(sources):
        return "plain, changed since it was compiled", None
    return "compiled", Finder(folder, manifest["modules"])


def use() -> str:
    """Decides once for the process which form runs, and returns it, for people."""
    global _form
    if not _form:
        _form, finder = choose(SOURCES, FOLDER, os.environ.get("ONEMQ_PLAIN", "0") not in ("", "0"))
        if finder is not None:
            sys.meta_path.insert(0, finder)
    return _form
