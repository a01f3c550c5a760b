"""The Reconciliation Service API, over a register or an entity vocabulary.

Version 0.2 is at ``/reconcile``, the draft of 1.0 at ``/reconcile/1.0``. OpenRefine, the annotation
editor of TEI Publisher and other clients use it to look up ids.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypedDict
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from rapidfuzz import fuzz

from corpora import __version__
from corpora.reports.pages import render
from modeling.http.guard import Refusal
from modeling.serve.entries import EntryIndex, FoundEntry, Value, fold
from modeling.serve.loaded_models import read_json
from modeling.serve.onoma_api import decoded, media_type
from modeling.serve.reconciliation_messages import (
    DraftBatch,
    DraftQuery,
    ExtendedProperty,
    ExtendQuery,
    PropertyValue,
    Query,
    QueryBatch,
)

_PATH: Final = "/reconcile"
_DRAFT: Final = "/1.0"
_BATCH: Final = 100
"""The most queries of a batch; larger batches get 413, as the specification says."""
_LIMIT, _MOST = 10, 100
"""The number of candidates of a query without ``limit``, and the most that ``limit`` can be."""
_SUGGESTED: Final = 10
_IDS, _PROPERTIES = 2000, 100
"""The most entities and the most properties of an ``extend`` query."""
_VALUES: Final = 1000
"""The most values of properties in all queries of a batch; each is compared with those of entries.
"""
_LONG: Final = 1000
"""The number of characters of a name or value that are compared."""
_MATCH: Final = 95.0
_APART: Final = 5.0
"""The best candidate is a ``match`` if its score is at least ``_MATCH``, and that of the next one
lower by at least ``_APART``; scores go from 0 to 100."""
_OF_PROPERTIES: Final = 0.4
"""The weight of properties in a score; the name has the rest."""
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_YEAR: Final = re.compile(r"-?\d{4}")
_PREVIEW_SIZE: Final = (400, 160)
_Cell = dict[str, str]
_Answer = dict[str, object]
"""An object of the specification; a field without a value is left out."""
_Judged = tuple[FoundEntry, float, list[_Answer]]
"""An entry, its score from 0 to 100, and what the score is made of."""
_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'"


def routes(entries: EntryIndex, *, space: str) -> APIRouter:
    """Create the router of the protocol; ``space`` is the URI of the identifier space."""
    router = APIRouter(tags=["Reconciliation"], prefix=_PATH)

    async def answer(request: Request, fields: Mapping[str, str]) -> Response:
        if queries := fields.get("queries"):
            batch = read_json(QueryBatch, queries, what="queries: ", status=400)
            return JSONResponse(await asyncio.to_thread(reconcile, entries, batch))
        if asked := fields.get("extend"):
            query = read_json(ExtendQuery, asked, what="extend: ", status=400)
            return JSONResponse(await asyncio.to_thread(extend, entries, query))
        return JSONResponse(manifest(entries, base=f"{request.base_url}".rstrip("/"), space=space))

    @router.get("")
    @router.get("/", include_in_schema=False)
    async def get(
        request: Request, queries: str | None = None, extend: str | None = None
    ) -> Response:
        """Return the manifest, or answer ``queries`` or ``extend``."""
        return await answer(request, {"queries": queries or "", "extend": extend or ""})

    @router.post("")
    @router.post("/", include_in_schema=False)
    async def post(request: Request) -> Response:
        """Answer a form with ``queries`` or ``extend``."""
        if media_type(request) != "application/x-www-form-urlencoded":
            raise Refusal(415, "A form is read: application/x-www-form-urlencoded.")
        fields = _form(decoded(await request.body()))
        if not fields.keys() & {"queries", "extend"}:
            raise Refusal(400, "The form needs a field queries or extend.")
        return await answer(request, fields)

    _add_draft(router, entries)
    _add_lookups(router, entries)
    return router


def _add_draft(router: APIRouter, entries: EntryIndex) -> None:
    """Add the routes that only the draft of 1.0 has."""

    @router.get(_DRAFT)
    @router.get(f"{_DRAFT}/", include_in_schema=False)
    async def draft(request: Request) -> JSONResponse:
        """Return the manifest of the draft of version 1.0."""
        base = f"{request.base_url}".rstrip("/") + _PATH + _DRAFT
        return JSONResponse(draft_manifest(entries, base=base))

    @router.post(f"{_DRAFT}/match")
    async def match(request: Request) -> JSONResponse:
        """Find the candidates of each query."""
        batch = read_json(DraftBatch, decoded(await request.body()), what="", status=400)
        return JSONResponse(await asyncio.to_thread(reconcile_draft, entries, batch))

    @router.post(f"{_DRAFT}/extend")
    async def extend_(request: Request) -> JSONResponse:
        """List the values of properties of entities."""
        query = read_json(ExtendQuery, decoded(await request.body()), what="", status=400)
        answer = await asyncio.to_thread(extend, entries, query)
        rows = [
            {"id": id, "properties": [{"id": name, "values": row[name]} for name in row]}
            for id, row in answer["rows"].items()
        ]
        return JSONResponse({**answer, "rows": rows})


def _add_lookups(router: APIRouter, entries: EntryIndex) -> None:
    """Add the suggestions, flyouts and previews, which both versions have."""

    @router.get("/suggest/entity")
    @router.get(f"{_DRAFT}/suggest/entity", include_in_schema=False)
    async def entity(prefix: str = "", cursor: int = 0, limit: int = _SUGGESTED) -> Response:
        """Suggest entities with a name that begins with ``prefix``."""
        n = min(max(limit, 0), _MOST)
        return JSONResponse(await asyncio.to_thread(suggest, entries, prefix, skip=cursor, limit=n))

    @router.get("/suggest/property")
    @router.get(f"{_DRAFT}/suggest/property", include_in_schema=False)
    async def property_(prefix: str = "", cursor: int = 0, limit: int = _MOST) -> Response:
        """Suggest properties whose name begins with ``prefix``."""
        names = _beginning(entries.source.properties, prefix, skip=cursor)[: max(limit, 0)]
        return JSONResponse({"result": names})

    @router.get("/suggest/type")
    @router.get(f"{_DRAFT}/suggest/type", include_in_schema=False)
    async def kind(prefix: str = "", cursor: int = 0, limit: int = _MOST) -> Response:
        """Suggest types whose name begins with ``prefix``."""
        names = _beginning(entries.source.kinds, prefix, skip=cursor)[: max(limit, 0)]
        return JSONResponse({"result": names})

    @router.get("/flyout/entity")
    async def flyout(id: str) -> JSONResponse:
        """Return what a client shows beside a suggested entity."""
        if (found := entries.entry(id)) is None:
            raise Refusal(404, f"No entity {id[:80]!r}.")
        return JSONResponse({"id": id, "html": page(found)})

    @router.get("/flyout/{kind}")
    async def flyout_of_name(kind: Literal["type", "property"], id: str) -> JSONResponse:
        """Return what a client shows beside a suggested type or property."""
        return JSONResponse({"id": id, "html": render("small", title=id, texts=[kind], facts=[])})

    @router.get("/properties")
    @router.get(f"{_DRAFT}/extend/propose", include_in_schema=False)
    async def properties(type: str = "", limit: int | None = None) -> Response:
        """Propose properties whose values can be fetched."""
        limit = limit if limit and limit > 0 else None
        found = [_named(p) for p in entries.source.properties][:limit]
        answer: _Answer = {"properties": found, "type": type}
        return JSONResponse(answer | ({"limit": limit} if limit else {}))

    @router.get("/preview", response_class=HTMLResponse)
    @router.get(f"{_DRAFT}/preview", include_in_schema=False)
    async def preview(id: str) -> HTMLResponse:
        """Return a fragment about an entity, for a page whose styles it leaves alone."""
        if (found := entries.entry(id)) is None:
            raise Refusal(404, f"No entity {id[:80]!r}.")
        headers = {"content-security-policy": _CSP, "x-content-type-options": "nosniff"}
        return HTMLResponse(page(found), headers=headers)


def _form(body: str) -> dict[str, str]:
    """Parse the fields of a form; TEI Publisher sends JSON without percent-encoding."""
    for name in ("queries", "extend"):
        if body.startswith(f"{name}={{"):
            return {name: body.partition("=")[2]}
    try:
        fields = parse_qs(body, max_num_fields=20)
    except ValueError as error:
        raise Refusal(400, f"The form cannot be read ({error}).") from error
    return {name: values[0] for name, values in fields.items()}


def manifest(entries: EntryIndex, *, base: str, space: str) -> _Answer:
    """Build the manifest; ``base`` is the address by which the client reaches the service."""
    width, height = _PREVIEW_SIZE
    page = f"{base}{_PATH}/preview?id={{{{id}}}}"
    limit = {
        "name": "limit",
        "label": "Limit",
        "type": "number",
        "default": 0,
        "help_text": "Most values of a property (0: all)",
    }
    return {
        "versions": ["0.2"],
        "name": f"Onoma: {entries.name}",
        "identifierSpace": space,
        "schemaSpace": f"{space}#",
        "serviceVersion": __version__,
        "defaultTypes": [_named(kind) for kind in entries.source.kinds],
        "view": {"url": page},
        "preview": {"url": page, "width": width, "height": height},
        "suggest": {
            name: {
                "service_url": base,
                "service_path": f"{_PATH}/suggest/{name}",
                "flyout_service_url": base,
                "flyout_service_path": f"{_PATH}/flyout/{name}?id=${{id}}",
            }
            for name in ("entity", "property", "type")
        },
        "extend": {
            "propose_properties": {"service_url": base, "service_path": f"{_PATH}/properties"},
            "property_settings": [limit],
        },
        "batchSize": _BATCH,
    }


def draft_manifest(entries: EntryIndex, *, base: str) -> _Answer:
    """Build the manifest of the draft; all its addresses follow from that of the service."""
    width, height = _PREVIEW_SIZE
    limit = {"id": "limit", "name": "Most values of a property (0: all)", "type": "number"}
    return {
        "versions": ["1.0-draft"],
        "name": f"Onoma: {entries.name}",
        "serviceVersion": __version__,
        "defaultTypes": [_named(kind) for kind in entries.source.kinds],
        "view": {"url": f"{base}/preview?id={{id}}"},
        "preview": {"width": width, "height": height},
        "suggest": dict.fromkeys(("entity", "property", "type"), True),
        "extend": {"proposeProperties": True, "propertySettings": [{**limit, "default": 0}]},
        "batchSize": _BATCH,
        "standardizedScore": True,
    }


class _Values(TypedDict):
    """The values of each property of each entity."""

    meta: list[dict[str, str]]
    rows: dict[str, dict[str, list[_Cell]]]


class _Asked(NamedTuple):
    """A property that an entity should have, or must have."""

    property: str
    values: Sequence[PropertyValue]
    is_required: bool = False
    quantifier: str = "any"


class _Wanted(NamedTuple):
    """A query of either version."""

    names: Sequence[str]
    kinds: Sequence[str]
    asked: Sequence[_Asked]
    most: float | None
    ids: Sequence[str] = ()

    @property
    def limit(self) -> int:
        """The most candidates that are returned."""
        return _LIMIT if self.most is None else int(min(self.most, _MOST))


def reconcile(entries: EntryIndex, batch: QueryBatch) -> _Answer:
    """Find the candidates of each query.

    Raises ``Refusal`` (413) for too many queries, or too many values in them.
    """
    candidates = _reconciled(entries, [_wanted(query) for query in batch.root.values()])
    answers = zip(batch.root, candidates, strict=True)
    return {name: {"result": answer} for name, answer in answers}


def reconcile_draft(entries: EntryIndex, batch: DraftBatch) -> _Answer:
    """Find the candidates of each query of the draft; raises as ``reconcile``."""
    answers = _reconciled(entries, [_wanted_by_draft(query) for query in batch.queries])
    return {"results": [{"candidates": answer} for answer in answers]}


def _reconciled(entries: EntryIndex, queries: Sequence[_Wanted]) -> list[list[_Answer]]:
    if len(queries) > _BATCH:
        raise Refusal(413, f"{len(queries):,} queries: at most {_BATCH} at once.")
    asked = (wish for query in queries for wish in query.asked)
    n_values = sum(len(wish.values) for wish in asked)
    n_values += sum(len(query.names) + len(query.ids) for query in queries) - len(queries)
    if n_values > _VALUES:
        raise Refusal(413, f"{n_values:,} values of properties: at most {_VALUES:,} at once.")
    return [_candidates(entries, query) for query in queries]


def _wanted(query: Query) -> _Wanted:
    kinds = [query.type] if isinstance(query.type, str) else query.type or []
    asked = [_Asked(wish.pid, _listed(wish.v)) for wish in query.properties or ()]
    return _Wanted([query.query or ""], kinds, asked, query.limit)


def _wanted_by_draft(query: DraftQuery) -> _Wanted:
    values: dict[str, list[str]] = {"name": [], "id": []}
    asked = []
    for wish in query.conditions:
        given = _listed(wish.propertyValue)
        if wish.matchType == "property":
            name = wish.propertyId or ""
            asked.append(_Asked(name, given, wish.required, wish.matchQuantifier))
        else:
            values[wish.matchType] += map(_written, given)
    kinds = [query.type] if query.type else []
    return _Wanted(values["name"] or [""], kinds, asked, query.limit, values["id"])


def _candidates(entries: EntryIndex, query: _Wanted) -> list[_Answer]:
    if query.limit < 1:
        return []
    judged = list(chain.from_iterable(_judged(entries, query, name) for name in query.names))
    judged.sort(key=itemgetter(1), reverse=True)  # of equal scores, the order of the search stays
    judged = list({entry.id: (entry, n, why) for entry, n, why in judged[::-1]}.values())[::-1]
    second = judged[1][1] if len(judged) > 1 else 0.0
    is_sure = bool(judged) and judged[0][1] >= _MATCH and judged[0][1] - second >= _APART
    return [
        _candidate(entry, score, features, is_sure=is_sure and not place)
        for place, (entry, score, features) in enumerate(judged[: query.limit])
    ]


def _judged(entries: EntryIndex, query: _Wanted, name: str) -> list[_Judged]:
    """Find entries by a name or, without one, by their ids or properties; judge each."""
    filters, kinds, name = query.asked, query.kinds, name[:_LONG]
    if name.strip():
        n = _MOST if filters else max(query.limit, 2)  # two decide whether the best is a match
        found = entries.search(name, limit=n, kinds=kinds)
    else:
        found = _by_properties(entries, filters, kinds)
    if query.ids:
        by_id = list(filter(None, map(entries.entry, query.ids)))
        wanted = {entry.id for entry in by_id}
        found = [(entry, n) for entry, n in found if name.strip() and entry.id in wanted]
        found = found or [(entry, 100.0) for entry in by_id]
    must = [asked for asked in filters if asked.is_required]
    return [
        _judge(entry, alike, filters, has_name=bool(name.strip()))
        for entry, alike in found
        if all(_fit(entry, asked) >= 1 for asked in must)
    ]


def _by_properties(
    entries: EntryIndex, filters: Sequence[_Asked], kinds: Sequence[str]
) -> list[tuple[FoundEntry, float]]:
    """Find entries by their properties alone: the one that has a given id, else all that fit.

    All filters must fit. Each entry found has the similarity 100; there are at most ``_MOST``.
    """
    for asked in filters:
        for value in asked.values:
            if found := entries.entry(f"{asked.property}:{_written(value)}"):
                return [(found, 100.0)]
    wanted = set(kinds) & set(entries.source.kinds)
    every = (one for one in entries.all() if not wanted or wanted.intersection(one.kinds))
    fitting = (one for one in every if all(_fit(one, filter) >= 1 for filter in filters))
    return [(one, 100.0) for one in islice(fitting, _MOST)]


def _judge(
    found: FoundEntry, alike: float, filters: Sequence[_Asked], *, has_name: bool
) -> _Judged:
    """Compute the score of an entry, from 0 to 100; return the entry, score and its features."""
    features = [_feature("name_similarity", alike)] if has_name else []
    if not filters:
        return found, alike, features
    fits = {asked.property: _fit(found, asked) for asked in filters}
    features += [_feature(f"property_{name}", fit) for name, fit in fits.items()]
    known = sum(fits.values()) / len(fits)
    return found, (1 - _OF_PROPERTIES) * alike + _OF_PROPERTIES * 100 * known, features


def _feature(id: str, value: float) -> _Answer:
    return {"id": id, "name": id.replace("_", " "), "value": round(value, 3)}


def _fit(found: FoundEntry, asked: _Asked) -> float:
    """Compute how well a property fits, from 0 to 1: the similarity of its best values."""
    own = found.properties.get(asked.property, ())
    fits = [
        max((_alike(value, _written(given)) for value in own), default=0.0)
        for given in asked.values
    ]
    if asked.quantifier == "none":
        return 1 - max(fits, default=0.0)
    return (min if asked.quantifier == "all" else max)(fits, default=0.0)


def _listed(value: PropertyValue | list[PropertyValue]) -> list[PropertyValue]:
    return value if isinstance(value, list) else [value]


def _written(value: PropertyValue) -> str:
    return str(getattr(value, "id", value))[:_LONG]


def _alike(value: Value, given: str) -> float:
    if given in {value.id, value.text}:
        return 1.0
    years = _YEAR.findall(value.text), _YEAR.findall(given)
    if all(years) and (given.lstrip("-").isdigit() or value.text[:1].isdigit()):
        return float(bool(set(years[0]) & set(years[1])))
    return fuzz.ratio(fold(value.text), fold(given)) / 100


def _candidate(
    found: FoundEntry, score: float, features: Sequence[_Answer], *, is_sure: bool
) -> _Answer:
    judged = {"score": round(score, 3), "match": is_sure, "features": features}
    return {**_about(found), **judged, "type": [_named(kind) for kind in found.kinds]}


def suggest(entries: EntryIndex, prefix: str, *, skip: int, limit: int) -> _Answer:
    """Find entities with a form that begins with ``prefix``, without the first ``skip``."""
    start = min(max(skip, 0), len(entries))
    entities = islice(entries.beginning(prefix), start, start + limit)
    suggested = [{**_about(e), "notable": [_named(kind) for kind in e.kinds]} for e in entities]
    return {"result": suggested}


def _about(found: FoundEntry) -> dict[str, str]:
    about = {"description": found.description} if found.description else {}
    return {"id": found.id, "name": found.name, **about}


def extend(entries: EntryIndex, query: ExtendQuery) -> _Values:
    """List the values of properties of entities; none for an unknown entity or property.

    Raises ``Refusal`` (413) for too many entities or properties.
    """
    if len(query.ids) > _IDS:
        raise Refusal(413, f"{len(query.ids):,} entities: at most {_IDS:,} at once.")
    if len(query.properties) > _PROPERTIES:
        n = len(query.properties)
        raise Refusal(413, f"{n:,} properties: at most {_PROPERTIES} at once.")
    rows: dict[str, dict[str, list[_Cell]]] = {}
    for id in query.ids:
        found = entries.entry(id)
        of_entity = found.properties if found else {}
        rows[id] = {one.id: _cells(of_entity.get(one.id, ()), one) for one in query.properties}
    meta = [_named(one.id) for one in query.properties]
    return {"meta": meta, "rows": rows}


def _cells(values: Sequence[Value], asked: ExtendedProperty) -> list[_Cell]:
    given = str((asked.settings or {}).get("limit", 0))
    limit = int(given) if _COUNT.fullmatch(given) else 0
    chosen = values[:limit] if limit else values
    return [{"id": v.id, "name": v.text} if v.id is not None else {"str": v.text} for v in chosen]


def _named(id: str) -> dict[str, str]:
    return {"id": id, "name": id}


def _beginning(names: Iterable[str], start: str, *, skip: int) -> list[dict[str, str]]:
    found = [_named(name) for name in names if fold(name).startswith(fold(start))]
    return found[max(skip, 0) :]


def page(found: FoundEntry) -> str:
    """Render a fragment of HTML about an entity, with styles of its own alone."""
    facts = [
        (name, "; ".join(value.text for value in values[:8]))
        for name, values in found.properties.items()
        if values and name not in {"name", "description"}
    ]
    texts = [", ".join((*found.kinds, found.id)), found.description]
    return render("small", title=found.name, texts=texts, facts=facts)
