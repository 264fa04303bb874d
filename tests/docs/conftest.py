"""The pages of docs/, built once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    """docs/build.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def built(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages in both languages, built strictly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "BUILD", tmp_path_factory.mktemp("docs"))
        found: Path = builder.build()
    return found
