"""``onoma licenses --fail-on``."""

from importlib.metadata import PackageNotFoundError

import pytest

from corpora.system import licenses


@pytest.mark.parametrize(("refused", "status"), [("copyleft", 1), ("unknown", 0)])
def test_a_licence_that_is_not_to_be_here_ends_in_status_1(refused, status, monkeypatch, capsys):
    monkeypatch.setattr(licenses, "kind_of", lambda _: "copyleft")

    assert licenses.main(["--fail-on", refused]) == status

    assert ("not to be here: " in capsys.readouterr().err) == bool(status)


def test_without_an_installation_there_is_no_list(monkeypatch, capsys):
    def requires(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(licenses, "requires", requires)

    assert licenses.main([]) == 2
    assert "Onoma is not installed here" in capsys.readouterr().err
