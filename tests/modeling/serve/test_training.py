"""Taggers that clients train, by TEI Publisher's and INCEpTION's protocols."""

import asyncio

import pytest

from modeling.finetune.process import TrainSettings
from tests.modeling.serve.test_inception import predicted
from tests.modeling.serve.test_inception import request as cas_request

PLACES = ("Ulm", "Jena")


def samples():
    """Make samples as ``modules/lib/api/nlp.xql`` of TEI Publisher (a52994f) does."""
    texts = [f"{'gestern ' * (n % 3)}ich war in {PLACES[n % 2]}." for n in range(24)]
    return [
        {"source": f"{n}.xml", "text": text, "entities": [[text.index(name), len(text) - 1, "LOC"]]}
        for n, text in enumerate(texts)
        for name in [PLACES[n % 2]]
    ]


def request(**changes):
    asked = {"name": "mine", "base": None, "lang": "de", "copy_vectors": None, "samples": samples()}
    return asked | changes


def documents():
    asked = cas_request()
    return {
        "metadata": asked["metadata"],
        "typeSystem": asked["typeSystem"],
        "documents": [{"xmi": asked["document"]["xmi"]} for _ in range(2)],  # without ids
    }


def test_without_leave_nobody_trains(ask):
    answers = ask.all(
        [
            ("POST", "/train/", {"json": request()}),
            ("GET", "/train/1", {}),
            ("POST", "/train", {"json": documents()}),
            ("POST", "/train/", {"content": "no JSON"}),
        ]
    )

    assert [answer.status_code for answer in answers] == [403, 403, 403, 403]
    assert "--allow-training" in answers[0].json()["detail"]


@pytest.fixture
def trainer(ask, bases, tmp_path):
    ask.training = TrainSettings(
        folder=tmp_path / "trained", encoder=bases / "plain", recipe="softmax_small"
    )
    return ask


def test_a_model_is_trained_in_another_process_and_served(trainer):
    async def train(client):
        begun = await client.post("/train/", json=request())
        id = begun.json()
        taken = await client.post("/train/", json=request(name="other"))
        running = await client.get(f"/train/{id}")
        while (log := await client.get(f"/train/{id}")).status_code == 202:
            await asyncio.sleep(0.1)
        models = (await client.get("/model")).json()
        found = await client.post("/entities/mine", content=b"ich war in Ulm.")
        return begun.status_code, taken.status_code, running.status_code, log, models, found

    begun, taken, running, log, models, found = trainer.act(train)

    assert (begun, taken, running) == (200, 429, 202)
    assert log.text.endswith("Process completed with exit code 0.")
    assert models == ["small", "mine"]
    assert found.status_code == 200
    assert trainer("GET", "/model").json() == ["small", "mine"]  # a service that starts again


def test_a_training_ends_with_the_service(trainer, tmp_path):
    async def train(client):
        answer = await client.post("/train", json=documents())
        shown = cas_request()
        return answer, predicted(await client.post("/predict", json=shown))

    answer, found = trainer.act(train)

    assert answer.status_code == 204, answer.text
    assert found == [("Ulm", "place"), ("Ida Berg", "person")]  # by the first model, so far
    assert (tmp_path / "trained" / "inception-1337" / "1" / "ner" / "dataset.json").exists()


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"name": "../mine"}, 422),
        ({"name": "small"}, 422),
        ({"base": "none"}, 404),
        ({"samples": []}, 422),
        ({"samples": {"text": "in Ulm", "entities": [[3, 99, "LOC"]]}}, 422),
        ({"samples": "text"}, 422),
    ],
)
def test_what_nothing_can_be_learned_from_is_refused(trainer, tmp_path, changes, status):
    answer = trainer("POST", "/train/", json=request(**changes))

    assert answer.status_code == status, answer.text
    assert not (tmp_path / "trained").exists()
