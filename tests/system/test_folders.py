"""A folder is named by a path or a URI."""

from __future__ import annotations

import pytest

from millstream.model.errors import PlanError
from millstream.system.folders import Folder


def test_sparks_name_of_s3_is_understood():
    assert Folder.of("totals", "s3a://bucket/totals?region=eu-west-1").place == (
        "s3",
        "bucket/totals",
    )


def test_an_unknown_file_system_is_an_error():
    with pytest.raises(PlanError, match="MS113 in step 'totals': 'ftp://host/out' names no folder"):
        Folder.of("totals", "ftp://host/out")
