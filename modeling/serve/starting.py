"""Start of the service from the options of the command line."""

import ctypes
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO
from urllib.parse import quote

from corpora.errors import UsageError
from corpora.reports import counted
from corpora.system.expat_version import warn_of_old_expat
from corpora.tei.edition import edition_path, load_edition
from modeling.finetune.process import TrainSettings
from modeling.http.guard import RequestLimits, access
from modeling.http.server import Server, listen
from modeling.predict.loading import load_tagger
from modeling.predict.tei import check_tagger_labels
from modeling.recipes.tagging_recipes import RECIPES
from modeling.serve.app import guarded
from modeling.serve.loaded_models import Service, ServiceSettings
from modeling.serve.training import Trainer
from modeling.taggers.folders import Base
from modeling.taggers.tagger import Tagger

if TYPE_CHECKING:
    from modeling.serve.__main__ import Options
    from modeling.serve.entries import EntryIndex


_MMAP_THRESHOLD: Final = -3
"""The constant ``M_MMAP_THRESHOLD`` for ``mallopt`` (malloc.h of glibc)."""


def serve(options: "Options", log: TextIO) -> None:
    """Answer requests until SIGTERM."""
    _return_memory()
    if options.access_log:
        access.addHandler(logging.StreamHandler(sys.stdout))
        access.setLevel(logging.INFO)
    listener = listen(options.host, options.port)
    try:
        tagger = _load(options)
        settings = ServiceSettings(
            edition=load_edition(edition_path(options.edition or "tei")),
            lang=options.lang,
            labels=tagger.label_map,
            threshold=options.threshold,
        )
        name, entries = options.name or _name_of(options), _entries(options)
        least = tagger.threshold_of_editions if options.threshold is None else options.threshold
        with Service.opened(name, tagger, settings) as service:

            def ready(address: str) -> None:
                log.write(f"serve {name} on {address} (labels: {', '.join(tagger.labels)})\n")
                if entries is not None:
                    log.write(f"ids   {address}/reconcile ({counted(len(entries), 'entry')})\n")
                log.write(f"tei   names of probability {least:.3f} or more are written\n")
                log.write(f"next  curl {address}/health\n")
                log.flush()
                warn_of_old_expat()

            space = (
                options.identifier_space or f"urn:onoma:{quote(entries.name if entries else '')}"
            )
            trainer = _trainer(options, service)
            guard = guarded(service, _rules(options), entries, space=space, trainer=trainer)
            Server(guard, listener, on_ready=ready).answer()
            log.write(f"answered {sum(guard.counts.values()):,} requests\n")
    finally:
        listener.close()


def _return_memory() -> None:
    """Make glibc return large blocks at once; batches of many sizes fragment memory otherwise."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 1 << 16)


def _load(options: "Options") -> Tagger:
    tagger = load_tagger(options.model, labels=options.labels)
    if options.edition:
        check_tagger_labels(tagger, load_edition(edition_path(options.edition)))
    return tagger


def _trainer(options: "Options", service: Service) -> Trainer | None:
    if options.allow_training is None or options.encoder is None:
        return None
    Base.open(options.encoder)  # raises for a bad encoder now, not at the first training
    if options.recipe not in RECIPES:
        raise UsageError(f"--recipe {options.recipe}: one of {', '.join(RECIPES)}")
    settings = TrainSettings(
        folder=options.allow_training, encoder=options.encoder, recipe=options.recipe
    )
    return Trainer(service.models, settings)


def _entries(options: "Options") -> "EntryIndex | None":
    if not options.register:
        return None
    from modeling.serve.entries import EntryIndex  # noqa: PLC0415 - needs the extra linking

    return EntryIndex.open(options.register)


def _rules(options: "Options") -> RequestLimits:
    return RequestLimits(
        hosts=options.allow_host,
        origins=options.allow_origin,
        allow_loopback_origins=True,
        token=Path(options.token).read_text("utf-8").strip() if options.token else None,
        open_paths={"/health", "/metrics"},
    )


def _name_of(options: "Options") -> str:
    folder = options.model.resolve()
    if folder.name == "final":
        return folder.parent.name
    return folder.name if folder.is_dir() else folder.stem
