"""What a module defines travels with its code if that is asked for, and else by its name."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import pytest

from millstream.spark.compat.pickler import (
    pickle_by_name,
    pickle_by_value,
    pickled_by_value,
    pickled_with_code,
)


@pytest.fixture
def module(monkeypatch):
    """A module that another process could not import."""
    made = ModuleType("only_here")
    exec("def twice(n):\n    return 2 * n", made.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", made)
    return made


def test_functions_of_a_module_travel_by_value_until_they_are_to_travel_by_name(module):
    pickle_by_value(module)
    assert "only_here" in pickled_by_value()
    with_code = pickled_with_code(module.twice)
    pickle_by_name(module)
    assert "only_here" not in pickled_by_value()
    by_name = pickled_with_code(module.twice)
    del sys.modules["only_here"]
    assert pickle.loads(with_code)(4) == 8
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(by_name)
    sys.modules["only_here"] = module
