"""Plans of runs: inputs, units of work, and a fingerprint.

The fingerprint covers what decides the bytes of the output: relative names and sizes of inputs,
what their store knows of them (``Plan.fingerprint``) or their hashes (``Build.fingerprint``, of
what is published), parameters, schemas, units, code, and versions of the libraries that write
shards. It does not cover the runner, the number of workers, and absolute paths.
"""

import hashlib
import json
import os
import platform
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from glob import glob, has_magic
from importlib.metadata import version
from itertools import islice, takewhile
from pathlib import Path
from types import MappingProxyType

from corpora.errors import DamagedDatasetError, InputChangedError, UsageError
from corpora.runs.code import code_hash
from corpora.system.buckets import is_url
from corpora.system.parsing import JsonObject, parse_json, typed

UNIT_BYTES = 2 << 20
UNIT_FILES = 200
Suffix = str | tuple[str, ...]
LIBRARIES = ("icu4py", "pyarrow")  # their versions may change bytes of shards


@dataclass(frozen=True, slots=True, order=True)
class InputFile:
    """A file that a run reads."""

    name: str
    """The name relative to the folder that all inputs share, with ``/`` between its parts."""
    size: int
    """The size in bytes."""
    sha256: str
    """Empty if the file is not read yet: the first unit that reads it takes the hash."""
    path: str = field(compare=False)
    """The path on this machine, or the address in a bucket; not part of the fingerprint."""
    changed: int = field(default=0, compare=False)
    """The time of the last change, in nanoseconds; not part of the fingerprint."""
    version: str = ""
    """The etag of an object in a bucket that is not read yet."""
    is_hashed: bool = field(default=True, compare=False)
    """Whether the bytes were read for the hash, which may else be what a ``dataset.json`` says."""

    @property
    def address(self) -> str:
        """The address in a bucket that the file is or was copied from, or else its path."""
        from corpora.system.staging import url_of

        return url_of(self.path) or self.path

    def read(self) -> bytes:
        """Read the whole file; raises ``InputChangedError`` if it has changed since the plan."""
        data = (self._here() if self.sha256 else self.check()).read_bytes()
        is_same = not self.sha256 or hashlib.sha256(data).hexdigest() == self.sha256
        if len(data) != self.size or not is_same:
            raise self._changed()
        return data

    def hashed(self) -> "InputFile":
        """Return the file with the hash of the bytes that are there.

        Raises ``InputChangedError`` if it has changed since the plan, ``DamagedDatasetError`` for a
        shard with other bytes than its dataset says.
        """
        from corpora.system.files import sha256_of

        sha256 = sha256_of(self.check())
        if self.sha256 not in ("", sha256):
            raise self._changed() if self.is_hashed else self.damaged()
        return replace(self, sha256=sha256, is_hashed=True)

    def damaged(self) -> DamagedDatasetError:
        """Return the error for a shard with other bytes than its dataset says."""
        return DamagedDatasetError(
            f"{self.path}: damaged (other bytes than were written). Run the pipeline that made it "
            "again: it rebuilds what is damaged."
        )

    def check(self) -> Path:
        """Return the local path, for reading a part of the file.

        Raises ``InputChangedError`` if size or time of a local file have changed; other changes are
        not seen.
        """
        if is_url(self.path):
            return self._here()
        status = Path(self.path).stat()
        if (status.st_size, status.st_mtime_ns) != (self.size, self.changed):
            raise self._changed()
        return Path(self.path)

    def _here(self) -> Path:
        """Return the path on this machine; a file in a bucket is copied, and its hash checked."""
        if not is_url(self.path):
            return Path(self.path)
        from corpora.system.staging import bring, bring_version

        if self.version:
            return bring_version(self.path, version=self.version, size=self.size)
        return bring(self.path, sha256=self.sha256)

    def _changed(self) -> InputChangedError:
        return InputChangedError(
            f"{self.path}: has changed since the run began. Run again: a new plan is made."
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work: it makes one shard of each dataset."""

    number: int
    inputs: tuple[InputFile, ...] = ()
    settings: JsonObject = field(default_factory=dict)
    """Settings of the pipeline for this unit: plain JSON values, not part of the fingerprint."""
    part: JsonObject = field(default_factory=dict)
    """The part of the inputs that the unit reads: plain JSON values; empty: all of them."""
    hashes: tuple[str, ...] = ()
    """The names of the inputs whose hashes the unit takes, as ``Plan.marked`` chooses them."""

    @property
    def shard_name(self) -> str:
        """The name of the shards that the unit makes."""
        return shard_name(self.number)

    def to_json(self) -> str:
        """Write the unit as one line of JSON, for ``from_json``."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Unit":
        """Parse the output of ``to_json``."""
        return typed(cls, parse_json(line))

    def hashed(self) -> "Unit":
        """Return the unit with the hashes that it takes; see ``InputFile.hashed``."""
        if not self.hashes:
            return self
        files = (file.hashed() if file.name in self.hashes else file for file in self.inputs)
        return replace(self, inputs=tuple(files))


def unit_for_each(files: Iterable[InputFile]) -> tuple[Unit, ...]:
    """Make one unit of each file."""
    return tuple(Unit(number, (file,)) for number, file in enumerate(files))


def units_without_input(n: int) -> tuple[Unit, ...]:
    """Make ``n`` units that differ only in their numbers: partitions of merged data."""
    return tuple(map(Unit, range(n)))


def partitions(files: Iterable[InputFile], part_bytes: int) -> tuple[Unit, ...]:
    """Make as many units without input as the files have parts of ``part_bytes``, at least one."""
    return units_without_input(max(1, -(-sum(file.size for file in files) // part_bytes)))


def named(prefix: str, files: Mapping[str, InputFile]) -> list[InputFile]:
    """Select the auxiliary files whose names begin with a prefix."""
    return [file for name, file in files.items() if name.startswith(prefix)]


def shard_name(number: int) -> str:
    """Return the name of the shards that the unit with this number makes."""
    return f"shard-{number:05d}.arrow"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of work before the units of a plan; its datasets are not published."""

    name: str
    """The name of the stage, by which a ``Phase`` of the pipeline refers to it."""
    units: tuple[Unit, ...]
    datasets: Mapping[str, str]
    """Name of each intermediate dataset to the name of its schema."""


@dataclass(frozen=True)
class Plan:
    """The plan of one run; equal plans make the same bytes."""

    pipeline: str
    datasets: Mapping[str, str]
    """Folder of each dataset in the output (empty: the output itself) to the name of its schema."""
    parameters: JsonObject
    """Every option that changes a byte of the output."""
    units: tuple[Unit, ...]
    auxiliary: Mapping[str, InputFile] = field(default_factory=dict)
    """Files that are read besides the inputs, by name: editions, tables, vocabularies."""
    stages: tuple[Stage, ...] = ()
    """The stages that are done before the units, in order."""
    settings: object = None
    """What the graphs of the pipeline take: its options, or a dataclass made from them. Not part of
    the fingerprint, for ``parameters`` have all that decides a byte."""

    @property
    def inputs(self) -> list[InputFile]:
        """All input files, each once, in the order of stages and units."""
        return list(self._readers)

    @cached_property
    def _readers(self) -> dict[InputFile, tuple[str, int]]:
        """The first unit that reads each input: the name of its stage, and its number."""
        readers: dict[InputFile, tuple[str, int]] = {}
        for stage, units in [*((each.name, each.units) for each in self.stages), ("", self.units)]:
            for unit in units:
                for file in unit.inputs:
                    readers.setdefault(file, (stage, unit.number))
        return readers

    def marked(self, unit: Unit, stage: str) -> Unit:
        """Return a unit with the names of the inputs whose hashes it takes, as the first reader."""
        names = (
            file.name
            for file in unit.inputs
            if not file.is_hashed and self._readers[file] == (stage, unit.number)
        )
        return replace(unit, hashes=hashes) if (hashes := tuple(names)) else unit

    def hashed(self) -> "Plan":
        """Return the plan with the hashes of all inputs that are on this machine."""
        from corpora.system.threads import map_in_order

        files = [file for file in self.inputs if not (file.is_hashed or is_url(file.path))]
        known = dict(zip(files, map_in_order(InputFile.hashed, files), strict=True))

        def filled(units: Sequence[Unit]) -> tuple[Unit, ...]:
            return tuple(
                replace(unit, inputs=tuple(known.get(file, file) for file in unit.inputs))
                for unit in units
            )

        stages = tuple(replace(stage, units=filled(stage.units)) for stage in self.stages)
        return replace(self, units=filled(self.units), stages=stages) if files else self

    @cached_property
    def description(self) -> dict[str, object]:
        """Everything that decides a byte of the output, in the form of ``dataset.json``.

        Inputs that are not read yet have no hash; those in buckets have their version.
        """
        return self.describe({})

    def describe(self, hashes: Mapping[str, str]) -> dict[str, object]:
        """Describe the plan with the hashes that units have taken, by the names of inputs."""
        return {
            "pipeline": self.pipeline,
            "inputs": [_described(file, hashes.get(file.name, "")) for file in self.inputs],
            "auxiliary": {name: _described(file) for name, file in self.auxiliary.items()},
            "parameters": dict(self.parameters),
            "schemas": _versions(self.datasets),
            "units": _counted(self.units),
            **{f"units of {stage.name}": _counted(stage.units) for stage in self.stages},
            "code": code_hash(self.pipeline),
            "libraries": library_versions(),
        }

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the description: what is known before inputs are read.

        It names the work directory and stands in completion markers. What is published has the
        fingerprint of the description with all hashes.
        """
        return fingerprint_of(self.description)


def fingerprint_of(description: Mapping[str, object]) -> str:
    """Hash a description of a plan, or any other JSON value."""
    canonical = json.dumps(description, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _described(file: InputFile, sha256: str = "") -> dict[str, str | int]:
    about: dict[str, str | int] = {"name": file.name, "size": file.size}
    if known := file.sha256 or sha256:
        return about | {"sha256": known}
    return about | {"version": file.version} if file.version else about


def _counted(units: Sequence[Unit]) -> list[object]:
    """Describe how inputs are cut into units: the number of inputs, or the part, of each unit."""
    return [dict(unit.part) or len(unit.inputs) for unit in units]


def _versions(datasets: Mapping[str, str]) -> dict[str, str]:
    from corpora.datasets.schemas import SCHEMAS

    return {name: f"{schema} {SCHEMAS[schema].version}" for name, schema in datasets.items()}


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that may change a byte of a shard."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"python": f"{platform.python_implementation()} {python}"} | {
        name: version(name) for name in LIBRARIES
    }


@cache
def version_of_code() -> str:
    """Hash what decides the bytes that this process writes: our code and the library versions."""
    return fingerprint_of({"code": code_hash(), "libraries": library_versions()})


def find_inputs(
    patterns: Sequence[str],
    *,
    suffix: Suffix = "",
    exclude: Sequence[str] = (),
    option: str = "input",
) -> dict[str, Path]:
    """Find the files that patterns, folders or file names match; map relative names to paths.

    Names are relative to the folder that all patterns share, and sorted; ``exclude`` holds patterns
    over these names. In a folder, all files are taken that end in ``suffix``, or in one of several,
    except hidden ones and those in hidden folders. Raises ``UsageError`` where a pattern matches
    nothing, a folder cannot be read or has a link to itself, a name is not fit for a table or is
    that of no file, or links give a file two names.
    """
    found: dict[str, Path] = {}
    bases: list[str] = []
    for pattern in patterns:
        if not pattern:
            raise UsageError(f"--{option}: a pattern is empty. Is a variable not set?")
        files, base = _expand(pattern, suffix=suffix)
        if not files:
            raise UsageError(
                f"--{option} {pattern}: matches no file. Check the path and the quotes."
            )
        found |= files
        bases.append(base)
    named = dict(sorted(without(name_relative(found, bases), exclude).items()))
    by_number: dict[tuple[int, int], Path] = {}
    for path in named.values():
        if str(path) in found:  # not in a bucket
            status = _check_file(path)
            first = by_number.setdefault((status.st_dev, status.st_ino), path)
            if first is not path and first.resolve() == path.resolve():
                raise UsageError(
                    f"--{option}: {first} and {path} are one file, which would count twice. Leave "
                    "one of the two out."
                )
    return named


def name_relative(found: Mapping[str, Path], bases: Sequence[str]) -> dict[str, Path]:
    """Name files, given by addresses, relative to the deepest folder that all bases share."""
    parts = zip(*(base.split("/") for base in bases), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, parts))
    return {"/".join(address.split("/")[shared:]): path for address, path in found.items()}


def _expand(pattern: str, *, suffix: Suffix) -> tuple[dict[str, Path], str]:
    """Return the files that a pattern matches, address to path, and the folder they share."""
    if is_url(pattern):
        from corpora.system.staging import find

        return find(pattern, suffix=suffix)
    path = Path(os.path.abspath(os.path.expanduser(pattern)))  # noqa: PTH100, PTH111 - no ".." stays
    fixed = path
    if path.is_file():
        files, fixed = [path], path.parent
    elif path.is_dir():
        files = sorted(_files_below(path, suffix=suffix))
    else:
        while has_magic(str(fixed)):
            fixed = fixed.parent
        files = [match for match in _matches(path) if not match.is_dir()]
    return {str(file): file for file in files}, str(fixed).rstrip("/")


def _matches(pattern: Path) -> list[Path]:
    """List what a pattern matches; raises ``UsageError`` for a folder that cannot be read.

    ``glob`` leaves out such folders, with all that is in them.
    """
    above = _matches(pattern.parent) if has_magic(str(pattern.parent)) else [pattern.parent]
    matches = [Path(path) for path in glob(str(pattern), recursive=True)]  # noqa: PTH207 - relative
    needed = os.R_OK | os.X_OK if has_magic(pattern.name) else os.X_OK
    for folder in above + matches if pattern.name == "**" else above:
        if folder.is_dir() and not os.access(folder, needed):
            raise UsageError(
                f"{folder}: cannot be read (Permission denied). Ask for the permission, or name "
                "the folders beside it."
            )
    return matches


def _files_below(folder: Path, *, suffix: Suffix) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise UsageError(f"{error.filename}: cannot be read ({error.strerror}).") from error

    above: dict[str, tuple[str, ...]] = {}  # a folder to the real paths of the folders it lies in
    for parent, inside, names in os.walk(folder, onerror=fail, followlinks=True):
        own = (*above.pop(parent, ()), os.path.realpath(parent))
        inside[:] = [name for name in inside if not name.startswith(".")]
        for name in inside:
            path = os.path.join(parent, name)  # noqa: PTH118 - as ``os.walk`` names it
            if os.path.islink(path) and os.path.realpath(path) in own:  # noqa: PTH114
                raise UsageError(
                    f"{path}: is a link to a folder that it lies in, so its files would be read "
                    "again and again. Take it away, or name the folders beside it."
                )
            above[path] = own
        for name in names:
            if name.lower().endswith(suffix) and not name.startswith("."):
                yield Path(parent) / name


def _check_file(path: Path) -> os.stat_result:
    """Return the status; raise ``UsageError`` for a pipe, a device, a link that leads nowhere."""
    try:
        status = path.stat()
    except OSError as error:
        what = "link that leads nowhere" if path.is_symlink() else "file that cannot be read"
        raise UsageError(
            f"{path}: is a {what} ({error.strerror}). Repair it, or leave it out."
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(
            f"{path}: is no file, but a pipe or a device, which cannot be read twice. Write its "
            "content to a file, and name that."
        )
    return status


def without(named: Mapping[str, Path], patterns: Sequence[str]) -> dict[str, Path]:
    """Drop the names that ``patterns`` match; raises ``UsageError`` where one matches nothing.

    Also raises it where no name is left, or one that is not fit for a table.
    """
    kept = dict(named)
    for pattern in patterns:
        excluded = [name for name in named if fnmatchcase(name, pattern)]
        if not excluded:
            raise UsageError(
                f"--exclude {pattern}: matches no input; names are as in {min(named)}."
            )
        for name in excluded:
            kept.pop(name, None)
    if not kept:
        raise UsageError(f"--exclude {' '.join(patterns)}: leaves no input. Exclude less.")
    for name, path in kept.items():
        # such a name can be neither an id nor a cell of a tab-separated table
        if not name.isprintable() or any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageError(f"{str(path)!r}: not printable UTF-8. Rename it, or leave it out.")
    return kept


def list_files(named: Mapping[str, Path]) -> list[InputFile]:
    """List files by names and sizes; nothing is read, and units take the hashes."""
    from corpora.system.staging import listed

    files = []
    for name, path in named.items():
        if entry := listed(path):
            url, found = entry
            files.append(InputFile(name, found.size, "", url, 0, found.etag, is_hashed=False))
        else:
            files.append(list_file(name, path))
    return files


def list_file(name: str, path: Path, *, sha256: str = "") -> InputFile:
    """List a file of this machine; ``sha256`` is what its dataset says, if it is a shard."""
    try:
        status = path.stat()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error
    size, changed = status.st_size, status.st_mtime_ns
    return InputFile(name, size, sha256, str(path.absolute()), changed, is_hashed=False)


def describe_each(paths: Mapping[str, Path | None]) -> dict[str, InputFile]:
    """Describe files by names of their own; those that are None are left out."""
    return {name: describe_file(name, path) for name, path in paths.items() if path is not None}


def describe_files(named: Mapping[str, Path]) -> list[InputFile]:
    """Compute the sizes and hashes of files, several at once; those in buckets are fetched.

    For pipelines that must read their inputs to plan; others use ``list_files``.
    """
    from corpora.system.buckets import N_TRANSFERS
    from corpora.system.staging import url_of
    from corpora.system.threads import N_THREADS, map_in_order

    n_threads = N_TRANSFERS if any(map(url_of, named.values())) else N_THREADS
    return list(map_in_order(lambda item: describe_file(*item), named.items(), n_threads=n_threads))


def describe_file(name: str, path: Path) -> InputFile:
    """Compute the size and hash of a file."""
    from corpora.system.files import sha256_of
    from corpora.system.staging import ensure

    path = ensure(path.absolute())
    try:
        status = path.stat()
        return InputFile(name, status.st_size, sha256_of(path), str(path), status.st_mtime_ns)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error


def make_units(
    files: Iterable[InputFile], *, settings: JsonObject = MappingProxyType({})
) -> tuple[Unit, ...]:
    """Pack whole files, in order, into units of at most ``UNIT_BYTES`` and ``UNIT_FILES``.

    A larger file is a unit alone; ``settings`` are those of files, by name: a unit gets those of
    its inputs.
    """
    return tuple(
        Unit(number, inputs, {f.name: settings[f.name] for f in inputs if f.name in settings})
        for number, inputs in enumerate(_pack(files))
    )


def limited(
    units: Iterable[Unit], limit: int, read: Callable[[Unit], Iterable[object]]
) -> Iterator[Unit]:
    """Yield the units that hold the first ``limit`` records.

    ``part`` of the last unit says how many of its records are taken.
    """
    for unit in units:
        n = sum(1 for _ in islice(read(unit), limit))
        if n == limit:
            yield replace(unit, part={**unit.part, "limit": n})
            return
        limit -= n
        yield unit


def _pack(files: Iterable[InputFile]) -> Iterator[tuple[InputFile, ...]]:
    packed: list[InputFile] = []
    size = 0
    for file in files:
        if packed and (size + file.size > UNIT_BYTES or len(packed) >= UNIT_FILES):
            yield tuple(packed)
            packed, size = [], 0
        packed.append(file)
        size += file.size
    if packed:
        yield tuple(packed)
