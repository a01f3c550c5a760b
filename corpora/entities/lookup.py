"""The entities that a form may mean, for a vocabulary of millions: a folder of mapped files.

``keys.npy``, ``entities.npy``, ``priors.npy``
    for each pair of form and entity: the 64-bit hash of the composed form (sorted), the index of
    the entity, and the prior; a form that lower case changes has a second entry, for its lower case
``names.bin``, ``offsets.npy``
    the names of the entities, one after another, and where each begins
``name_keys.npy``
    the 64-bit hashes of the names, sorted

An entry takes 16 bytes on disk, and twice that while the files are made: entries are divided by the
first bits of their keys, and one part is sorted at a time. So making them takes memory for 24 bytes
of each entity, and for one part. A process that looks up holds only the memory pages that it
touches. Hashes are not compared with the forms: among 10^7 forms, any
of 10^7 names without an entry is taken for a form with a probability of 1 : 180,000.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.entity_names import entities_in, names_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_shards
from corpora.errors import CorpusError
from corpora.hashing.strings import long_hashes
from corpora.matching.composition import composed
from corpora.system.parsing import read_json
from corpora.system.writing import write_json

ABOUT: Final = "lookup.json"
_VERSION: Final = 1
_COLUMNS: Final = ("entity", "names", "aliases", "retired")
_LOWERED: Final = np.uint64(0x5851F42D4C957F2D)
"""XORed with the hash of a lower-cased form, to keep it apart from forms written in lower case."""

Keys = npt.NDArray[np.uint64]
_ENTRY: Final = np.dtype([("keys", "<u8"), ("priors", "<f4"), ("entities", "<i4")])
Entries = npt.NDArray[np.void]
"""An array of ``_ENTRY``."""
_PART_BITS: Final = 6


class Pairs(NamedTuple):
    """The forms of some entities; ``of`` is the entity index of each form, ``priors`` its prior."""

    entities: pa.StringArray
    names: pa.StringArray
    """All names by which the entities are found."""
    forms: pa.StringArray
    of: npt.NDArray[np.int64]
    priors: npt.NDArray[np.float32]


def pairs_of(vocabulary: Path, *, space: str = "") -> Iterator[Pairs]:
    """Read the forms of a vocabulary, by batch; raises ``CorpusError`` where there is none.

    Entities have their names in ``space``, such as a wiki, if they have any there.
    """
    shards = (vocabulary / shard.name for shard in open_dataset(vocabulary, "entities").shards)
    for batch in read_shards(shards, SCHEMAS["entities"], columns=_COLUMNS):
        live = batch.filter(pc.invert(batch.column("retired")))
        aliases = live.column("aliases")
        flat = pc.list_flatten(aliases)
        yield Pairs(
            entities_in(space, live),
            pa.concat_arrays([names for _, names in names_of(live)]),
            pc.struct_field(flat, "form"),
            np.asarray(pc.list_parent_indices(aliases), np.int64),
            np.asarray(pc.struct_field(flat, "prior"), np.float32),
        )


def write_lookup(folder: Path, pairs: Iterable[Pairs]) -> int:
    """Write the files, ``lookup.json`` last; returns the number of entities."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ABOUT).unlink(missing_ok=True)
    lengths, name_keys = [], []
    n = n_pairs = 0
    with ExitStack() as stack:
        names = stack.enter_context((folder / "names.bin").open("wb"))
        parts = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(1 << _PART_BITS)]
        for some in pairs:
            for form_keys, chosen in _keys_of(some.forms):
                entries = np.empty(len(chosen), _ENTRY)
                entries["keys"], entries["priors"] = form_keys, some.priors[chosen]
                entries["entities"] = some.of[chosen] + n
                _divide(entries, parts)
                n_pairs += len(entries)
            text = pc.cast(some.entities, pa.binary())
            lengths.append(np.asarray(pc.binary_length(text), np.int64))
            names.write("".join(some.entities.to_pylist()).encode())
            name_keys.append(long_hashes(some.names))
            n += len(some.entities)
        _write_sorted(folder, parts, n_pairs)
    np.save(folder / "offsets.npy", np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum())
    np.save(folder / "name_keys.npy", np.sort(np.concatenate([np.empty(0, np.uint64), *name_keys])))
    write_json(folder / ABOUT, {"version": _VERSION, "entities": n, "pairs": n_pairs})
    return n


def _divide(entries: Entries, parts: Sequence[IO[bytes]]) -> None:
    """Append entries to the files of the parts that they belong to, each in its order."""
    part = (entries["keys"] >> np.uint64(64 - _PART_BITS)).astype(np.int64)
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=len(parts))).tolist()
    for file, start, end in zip(parts, [0, *ends], ends, strict=False):
        file.write(entries[order[start:end]].tobytes())


def _write_sorted(folder: Path, parts: Sequence[IO[bytes]], n: int) -> None:
    """Write the columns of all entries as arrays: by key, the highest prior first."""
    kinds = {name: np.dtype(_ENTRY[name]) for name in ("keys", "priors", "entities")}
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.npy").open("wb")) for name in kinds}
        for name, file in files.items():
            head = {"descr": kinds[name].str, "fortran_order": False, "shape": (n,)}
            np.lib.format.write_array_header_1_0(file, head)
        for part in parts:
            part.seek(0)
            entries = np.frombuffer(part.read(), _ENTRY)
            order = np.lexsort((-entries["priors"], entries["keys"]))
            for name, file in files.items():
                file.write(entries[name][order].tobytes())


def _keys_of(forms: pa.StringArray) -> Iterator[tuple[Keys, npt.NDArray[np.int64]]]:
    """Yield keys and the indices of their forms: composed, then in lower case if that differs."""
    forms = pa.array(map(composed, forms.to_pylist()), pa.string())
    yield long_hashes(forms), np.arange(len(forms))
    lower = pc.utf8_lower(forms)
    changed = np.flatnonzero(np.asarray(pc.not_equal(lower, forms)))
    yield long_hashes(lower.take(pa.array(changed))) ^ _LOWERED, changed


class EntityLookup:
    """The entities that a form may mean; raises ``CorpusError`` where the files are missing."""

    def __init__(self, folder: Path) -> None:
        path = folder / ABOUT
        if not path.is_file() or read_json(path).get("version") != _VERSION:
            raise CorpusError(
                f"{folder}: no forms of a vocabulary, or of another version of Onoma. Make them: "
                f"onoma link index VOCABULARY --output {folder}"
            )
        self._keys, self._owners, self._priors, self._offsets, self._name_keys = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
            for name in ("keys", "entities", "priors", "offsets", "name_keys")
        )
        size = (folder / "names.bin").stat().st_size
        names = np.memmap(folder / "names.bin", mode="r") if size else np.empty(0, np.uint8)
        self._names = np.asarray(names)

    def __len__(self) -> int:
        """Return the number of entities."""
        return len(self._offsets) - 1

    def __contains__(self, entity: str) -> bool:
        """Tell whether an entity is in the vocabulary."""
        [key] = long_hashes(pa.array([entity]))
        place = int(np.searchsorted(self._name_keys, key))
        return place < len(self._name_keys) and bool(self._name_keys[place] == key)

    def look_up(self, form: str, *, limit: int = 30) -> list[tuple[str, float]]:
        """Find the entities that a form may mean, each with its prior, the likeliest first.

        If no entity has the form as it is written, finds those that have it composed, or else in
        another case.
        """
        forms = pa.array(dict.fromkeys((form, composed(form))))
        for key in (*long_hashes(forms), *(long_hashes(pc.utf8_lower(forms)) ^ _LOWERED)):
            if found := self._at(key, limit):
                return found
        return []

    def _at(self, key: np.uint64, limit: int) -> list[tuple[str, float]]:
        start = int(np.searchsorted(self._keys, key))
        n = int((self._keys[start : start + limit] == key).sum())
        owners = self._owners[start : start + n]
        priors = self._priors[start : start + n].tolist()
        starts, ends = self._offsets[owners].tolist(), self._offsets[owners + 1].tolist()
        found: dict[str, float] = {}
        for first, last, prior in zip(starts, ends, priors, strict=True):
            found.setdefault(self._names[first:last].tobytes().decode(), prior)
        return list(found.items())
