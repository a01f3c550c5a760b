"""A service in this process, and a client that asks it."""

import asyncio
import logging
from dataclasses import replace

import httpx
import pytest

from corpora.ner.labels import load_label_map
from corpora.tei.edition import edition_path, load_edition
from modeling.http.guard import RequestLimits
from modeling.serve.app import guarded
from modeling.serve.loaded_models import Service, ServiceSettings
from modeling.serve.training import Trainer
from modeling.taggers.tagger import Tagger


@pytest.fixture(scope="session")
def tagger(tagger_run):
    return Tagger.load(tagger_run)


@pytest.fixture(scope="session")
def settings(tmp_path_factory):
    labels = tmp_path_factory.mktemp("labels") / "labels.toml"
    labels.write_text('[labels]\npers = "person"\n')
    edition = load_edition(edition_path("tei"))
    return ServiceSettings(edition=edition, labels=load_label_map(labels))


@pytest.fixture
def ask(tagger, settings):
    """Return what asks a service: ``ask("POST", "/v1/tag", json=…)``.

    Several requests at once: ``ask.all([("GET", "/", {}), …])``.
    """
    logging.getLogger("modeling.serve.batching").propagate = False  # a fault is made on purpose

    class Asker:
        def __init__(self):
            self.rules, self.settings = RequestLimits(allow_loopback_origins=True), {}
            self.service, self.entries, self.space, self.training = None, None, "", None

        def __call__(self, method, path, **request):
            [answer] = self.all([(method, path, request)])
            return answer

        def all(self, requests):
            async def at_once(client):
                asked = [client.request(m, path, **request) for m, path, request in requests]
                return await asyncio.gather(*asked)

            return self.act(at_once)

        def act(self, scene):
            """Let ``await scene(client)`` play with one service."""
            return asyncio.run(self._act(scene))

        async def _act(self, scene):
            used = replace(settings, **self.settings)
            with Service.opened("small", tagger, used) as self.service:
                of_clients = self.training and Trainer(self.service.models, self.training)
                options = {"space": self.space, "trainer": of_clients}
                guard = guarded(self.service, self.rules, self.entries, **options)
                transport = httpx.ASGITransport(app=guard, raise_app_exceptions=False)
                address = "http://127.0.0.1:8001"
                async with httpx.AsyncClient(transport=transport, base_url=address) as client:
                    try:
                        return await scene(client)
                    finally:
                        if of_clients:
                            await of_clients.close()

    yield Asker()
    tagger.label_map = None
    logging.getLogger("modeling.serve.batching").propagate = True
