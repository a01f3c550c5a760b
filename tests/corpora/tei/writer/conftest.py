"""An edition in which names may have no class."""

import pytest

from corpora.tei.edition import load_edition


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    path = tmp_path_factory.mktemp("editions") / "e.toml"
    path.write_text('unlabelled = ["rs"]\n[characters]\n"c[@n=\'3\']" = "..."\n', encoding="utf-8")
    return load_edition(path)
