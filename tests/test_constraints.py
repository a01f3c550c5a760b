"""What `make` installs has one version, and `make demo` brings no tools of the tests."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def installed_by(target):
    """Return the extras that a target of the Makefile installs."""
    recipe = MAKEFILE.partition(f"$(VENV)/{target}:")[2].partition("\n\n")[0]
    [extras] = re.findall(r"--editable '\.\[(.*)\]'", recipe)
    return extras.split(",")


def locked(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def required(extras):
    lines = [*PROJECT["dependencies"], *(line for name in extras for line in EXTRAS[name])]
    return [Requirement(line) for line in lines]


def test_actions_are_pinned_by_commit_and_the_image_does_not_run_as_root():
    used = re.findall(r"uses: (\S+)", (ROOT / ".github/workflows/check.yml").read_text("utf-8"))
    users = re.findall(r"^USER (\d+):", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)

    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)
    assert users
    assert "0" not in users


@pytest.mark.parametrize("file", ["constraints.txt", "dags/constraints.txt"])
def test_every_line_names_one_exact_version(file):
    for requirement in locked(file):
        assert [one.operator for one in requirement.specifier] == ["=="], requirement
        assert "*" not in str(requirement.specifier)


def test_all_that_make_installs_is_locked_to_a_version_that_fits():
    versions = {}
    for requirement in locked("constraints.txt"):
        [one] = requirement.specifier
        versions.setdefault(canonicalize_name(requirement.name), []).append(one.version)

    for requirement in [*required(installed_by("installed-dev")), Requirement("pip")]:
        for version in versions[canonicalize_name(requirement.name)]:
            assert requirement.specifier.contains(version), requirement


def test_any_build_of_torch_fits_its_line():
    [torch] = [one for one in locked("constraints.txt") if one.name == "torch"]

    assert str(torch) == "torch==2.13.0"
    assert torch.specifier.contains("2.13.0+cpu")


def test_demo_installs_no_tools_of_the_tests():
    names = {canonicalize_name(one.name) for one in required(installed_by("installed"))}

    unneeded = {"news-please", "scrapy", "wikiextractor", "mypy", "pytest", "ruff"}
    assert not names & unneeded
    assert set(installed_by("installed")) < set(installed_by("installed-dev"))
