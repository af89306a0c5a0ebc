"""Puts compiled modules into a wheel where they can be compiled (scripts/native.py); pyproject.toml says the rest."""

import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

SCRIPT = Path(__file__).resolve().parent / "scripts" / "native.py"
sys.path.insert(0, str(SCRIPT.parent))

from native import obstacle  # noqa: E402


class BuildModules(build_py):
    """Copies the sources, and compiles for others than a checkout, which `make setup` does by itself."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode and obstacle() is None:
            folder = Path(self.build_lib, "onemq", "_native").resolve()
            if subprocess.run([sys.executable, str(SCRIPT), "--to", str(folder)], check=False).returncode:
                print("OneMQ runs as plain Python: it was not compiled, the reason stands above", file=sys.stderr)


class CompiledDistribution(Distribution):
    """Has files for one Python and one kind of machine if there is a compiler."""

    def has_ext_modules(self) -> bool:
        return obstacle() is None


setup(cmdclass={"build_py": BuildModules}, distclass=CompiledDistribution)
