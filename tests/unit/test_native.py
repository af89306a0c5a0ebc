"""Compiled modules are used if they were made of these sources, and never otherwise."""

import json
from pathlib import Path

import pytest

from onemq.native import MANIFEST, PACKAGES, SUFFIX, Finder, choose, fingerprint


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for place in ("", *PACKAGES, "client"):
        tmp_path.joinpath(place).mkdir(exist_ok=True)
        tmp_path.joinpath(place, "module.py").write_text("answer = 42\n")
    return tmp_path


@pytest.fixture
def folder(sources: Path) -> Path:
    folder = sources / "_native"
    folder.mkdir()
    manifest = {"suffix": SUFFIX, "fingerprint": fingerprint(sources), "modules": ["onemq.core.module"]}
    folder.joinpath(MANIFEST).write_text(json.dumps(manifest))
    return folder


def test_what_was_made_of_these_sources_is_used(sources: Path, folder: Path) -> None:
    form, finder = choose(sources, folder, plain=False)
    assert form == "compiled"
    assert finder is not None
    spec = finder.find_spec("onemq.core.module")
    assert spec is not None
    assert spec.origin == str(folder / f"onemq.core.module{SUFFIX}")
    assert finder.find_spec("onemq.core.other") is None


@pytest.mark.parametrize("place", ["module.py", "core/module.py", "log/new.py", "protocols/resp/deep.py"])
def test_a_changed_or_new_source_makes_all_of_them_plain(sources: Path, folder: Path, place: str) -> None:
    sources.joinpath(place).parent.mkdir(exist_ok=True)
    sources.joinpath(place).write_text("answer = 43\n")
    assert choose(sources, folder, plain=False) == ("plain, changed since it was compiled", None)


def test_a_removed_or_renamed_source_does_too(sources: Path, folder: Path) -> None:
    sources.joinpath("core/module.py").rename(sources / "core/renamed.py")
    assert choose(sources, folder, plain=False)[1] is None


def test_what_no_compiled_module_can_know_of_may_change(sources: Path, folder: Path) -> None:
    sources.joinpath("client/module.py").write_text("answer = 43\n")
    assert isinstance(choose(sources, folder, plain=False)[1], Finder)


def test_who_asks_for_plain_python_gets_it(sources: Path, folder: Path) -> None:
    assert choose(sources, folder, plain=True) == ("plain, as ONEMQ_PLAIN asks", None)


@pytest.mark.parametrize("content", [None, "", "{"])
def test_without_a_manifest_nothing_is_compiled(sources: Path, folder: Path, content: str | None) -> None:
    folder.joinpath(MANIFEST).unlink()
    if content is not None:
        folder.joinpath(MANIFEST).write_text(content)
    assert choose(sources, folder, plain=False) == ("plain, not compiled", None)


def test_what_another_python_made_is_left_alone(sources: Path, folder: Path) -> None:
    manifest = json.loads(folder.joinpath(MANIFEST).read_text())
    folder.joinpath(MANIFEST).write_text(json.dumps(manifest | {"suffix": ".cpython-39.so"}))
    assert choose(sources, folder, plain=False) == ("plain, compiled for another Python", None)
