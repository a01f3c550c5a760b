import logging

import pytest

from corpora.system.expat_version import SAFE, warn_of_old_expat


@pytest.mark.parametrize(("version", "warns"), [((2, 5, 0), 1), ((2, 7, 3), 1), (SAFE, 0)])
def test_an_expat_with_known_faults_is_logged_once(caplog, version, warns):
    warn_of_old_expat.cache_clear()

    with caplog.at_level(logging.WARNING):
        warn_of_old_expat(version)
        warn_of_old_expat(version)

    assert len(caplog.records) == warns
    assert not warns or f"expat {'.'.join(map(str, version))}" in caplog.text
