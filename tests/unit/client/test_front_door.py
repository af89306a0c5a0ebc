"""`import onemq` is cheap, and offers everything."""

import subprocess
import sys

import onemq


def test_importing_onemq_loads_neither_asyncio_nor_the_server() -> None:
    code = "import sys, onemq; print([name for name in sys.modules if name in ('asyncio', 'typing', 'onemq.server')])"
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False,
                           env={"PYTHONPATH": ":".join(sys.path)})  # fmt: skip
    assert found.stdout.strip() == "[]", found.stderr


def test_every_name_at_the_front_door_can_be_had() -> None:
    for name in onemq._PLACES:
        assert getattr(onemq, name) is not None
    assert set(onemq._PLACES) <= set(dir(onemq))
    assert not hasattr(onemq, "nothing_of_that_name")
