"""What `make` installs has one version, and `make demo` brings no tools of the tests."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
TOOLS = PYPROJECT["dependency-groups"]["dev"]


def installed_by_make(variable):
    """Return the extras in a variable of the Makefile: what the demo runs, what the tests need."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [extras] = re.findall(rf"^{variable} := ([\w,-]+)$", makefile, re.MULTILINE)
    return extras.split(",")


def locked(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def required(extras):
    lines = [*PROJECT["dependencies"], *(line for name in extras for line in EXTRAS[name])]
    return [Requirement(line) for line in lines]


def test_the_base_image_is_named_by_digest():
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    bases = re.findall(r"^FROM (python:\S+)", dockerfile, re.MULTILINE)

    assert bases
    assert all(base.endswith("${DIGEST}") for base in bases)
    assert re.search(r"^ARG DIGEST=@sha256:[0-9a-f]{64}$", dockerfile, re.MULTILINE)


def test_actions_are_pinned_by_commit_and_the_image_does_not_run_as_root():
    workflows = "".join(file.read_text("utf-8") for file in (ROOT / ".github").rglob("*.yml"))
    used = re.findall(r"uses: (\S+)", workflows)
    users = re.findall(r"^USER (\d+):", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)

    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)
    assert users
    assert "0" not in users


def test_extras_leave_room_above_unless_a_break_is_known():
    lines = [*required(EXTRAS), *map(Requirement, TOOLS)]

    bounded = {one.name for one in lines if {"<", "==", "~="} & {s.operator for s in one.specifier}}

    assert bounded == {"mkdocs"}  # its second version has neither hooks nor plugins


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

    extras = [*installed_by_make("EXTRAS"), *installed_by_make("MORE")]
    for requirement in [*required(extras), *map(Requirement, TOOLS), Requirement("pip")]:
        for version in versions[canonicalize_name(requirement.name)]:
            assert requirement.specifier.contains(version), requirement


def test_any_build_of_torch_fits_its_line():
    [torch] = [one for one in locked("constraints.txt") if one.name == "torch"]

    assert str(torch) == "torch==2.13.0"
    assert torch.specifier.contains("2.13.0+cpu")


def test_demo_installs_no_tools_of_the_tests():
    names = {canonicalize_name(one.name) for one in required(installed_by_make("EXTRAS"))}

    unneeded = {"news-please", "scrapy", "wikiextractor", *(Requirement(one).name for one in TOOLS)}
    assert not names & unneeded


def test_checks_have_all_extras_but_those_with_a_place_of_their_own():
    installed = {*installed_by_make("EXTRAS"), *installed_by_make("MORE")}

    assert {*EXTRAS} - installed == {"dags", "tensorboard"}
