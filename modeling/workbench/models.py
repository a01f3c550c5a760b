"""The models that have suggested names, by id: what is saved says which of them found each name."""

from dataclasses import asdict
from pathlib import Path

from corpora.datasets.shards import write_json
from corpora.errors import CorpusError
from corpora.system.parsing import parse_json
from corpora.tei.provenance import Model


class Models:
    """A file with all models that were ever used beside an output folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            rows = parse_json(path.read_text(encoding="utf-8"))
            self._known = {row["id"]: Model(**row) for row in rows}
        except FileNotFoundError:
            self._known = {}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CorpusError(
                f"{path}: cannot be read ({error}). Take it away: names of earlier models are then "
                "saved as those of the present one."
            ) from error

    def add(self, model: Model) -> None:
        """Know a model from now on; it is written once another is known, too."""
        self._known[model.id] = model

    def keep(self) -> None:
        """Write all that are known."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self._path, [asdict(model) for model in self._known.values()])

    def get(self, id: str, default: Model) -> Model:
        """The model of an id."""
        return self._known.get(id, default)
