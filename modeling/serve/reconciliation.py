"""The Reconciliation Service API 0.2, over a register or an entity vocabulary (``/reconcile``).

OpenRefine, TEI Publisher's annotation editor and other clients use it to look up ids.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from rapidfuzz import fuzz

from corpora import __version__
from corpora.reports.pages import render
from modeling.http.guard import Refused
from modeling.serve.entries import Entries, Found, Value, fold
from modeling.serve.onoma_api import decoded, media_type, to_answer
from modeling.serve.reconciliation_messages import (
    Candidate,
    ExtendAnswer,
    ExtendedProperty,
    ExtendQuery,
    Feature,
    Manifest,
    PropertyFilter,
    PropertyValue,
    ProposedProperties,
    Query,
    QueryBatch,
    Result,
    ResultBatch,
    SuggestedEntities,
    SuggestedProperties,
    SuggestedTypes,
)
from modeling.serve.service import read_json

_PATH: Final = "/reconcile"
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
_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'"


def routes(entries: Entries, *, space: str) -> APIRouter:
    """Create the router of the protocol; ``space`` is the URI of the identifier space."""
    router = APIRouter(tags=["Reconciliation"], prefix=_PATH)

    async def answer(request: Request, fields: Mapping[str, str]) -> Response:
        if queries := fields.get("queries"):
            batch = read_json(QueryBatch, queries, what="queries: ", status=400)
            return to_answer(await asyncio.to_thread(reconcile, entries, batch))
        if asked := fields.get("extend"):
            query = read_json(ExtendQuery, asked, what="extend: ", status=400)
            return to_answer(await asyncio.to_thread(extend, entries, query))
        return to_answer(manifest(entries, base=f"{request.base_url}".rstrip("/"), space=space))

    @router.get("", response_model=Manifest | ResultBatch | ExtendAnswer)
    @router.get("/", include_in_schema=False)
    async def get(
        request: Request, queries: str | None = None, extend: str | None = None
    ) -> Response:
        """Return the manifest, or answer ``queries`` or ``extend``."""
        return await answer(request, {"queries": queries or "", "extend": extend or ""})

    @router.post("", response_model=ResultBatch | ExtendAnswer)
    @router.post("/", include_in_schema=False)
    async def post(request: Request) -> Response:
        """Answer a form with ``queries`` or ``extend``."""
        if media_type(request) != "application/x-www-form-urlencoded":
            raise Refused(415, "A form is read: application/x-www-form-urlencoded.")
        fields = _form(decoded(await request.body()))
        if not fields.keys() & {"queries", "extend"}:
            raise Refused(400, "The form needs a field queries or extend.")
        return await answer(request, fields)

    @router.get("/suggest/entity", response_model=SuggestedEntities)
    async def entity(prefix: str = "", cursor: int = 0) -> Response:
        """Suggest entities with a name that begins with ``prefix``."""
        return to_answer(await asyncio.to_thread(suggest, entries, prefix, skip=cursor))

    @router.get("/suggest/property", response_model=SuggestedProperties)
    async def property_(prefix: str = "", cursor: int = 0) -> Response:
        """Suggest properties whose name begins with ``prefix``."""
        found = _beginning(entries.source.properties, prefix, skip=cursor)
        return to_answer(SuggestedProperties.model_validate({"result": found}))

    @router.get("/suggest/type", response_model=SuggestedTypes)
    async def kind(prefix: str = "", cursor: int = 0) -> Response:
        """Suggest types whose name begins with ``prefix``."""
        found = _beginning(entries.source.kinds, prefix, skip=cursor)
        return to_answer(SuggestedTypes.model_validate({"result": found}))

    @router.get("/flyout/entity")
    async def flyout(id: str) -> JSONResponse:
        """Return what a client shows beside a suggested entity."""
        if (found := entries.entry(id)) is None:
            raise Refused(404, f"No entity {id[:80]!r}.")
        return JSONResponse({"id": id, "html": page(found)})

    @router.get("/flyout/{kind}")
    async def flyout_of_name(kind: Literal["type", "property"], id: str) -> JSONResponse:
        """Return what a client shows beside a suggested type or property."""
        return JSONResponse({"id": id, "html": render("small", title=id, texts=[kind], facts=[])})

    @router.get("/properties", response_model=ProposedProperties)
    async def properties(type: str = "", limit: int | None = None) -> Response:
        """Propose properties whose values can be fetched."""
        limit = limit if limit and limit > 0 else None
        found = [_named(p) for p in entries.source.properties][:limit]
        answer: dict[str, object] = {"properties": found, "type": type}
        return to_answer(
            ProposedProperties.model_validate(answer | ({"limit": limit} if limit else {}))
        )

    @router.get("/preview", response_class=HTMLResponse)
    async def preview(id: str) -> HTMLResponse:
        """Return a fragment about an entity, for a page whose styles it leaves alone."""
        if (found := entries.entry(id)) is None:
            raise Refused(404, f"No entity {id[:80]!r}.")
        headers = {"content-security-policy": _CSP, "x-content-type-options": "nosniff"}
        return HTMLResponse(page(found), headers=headers)

    return router


def _form(body: str) -> dict[str, str]:
    """Parse the fields of a form; TEI Publisher sends JSON without percent-encoding."""
    for name in ("queries", "extend"):
        if body.startswith(f"{name}={{"):
            return {name: body.partition("=")[2]}
    try:
        fields = parse_qs(body, max_num_fields=20)
    except ValueError as error:
        raise Refused(400, f"The form cannot be read ({error}).") from error
    return {name: values[0] for name, values in fields.items()}


def manifest(entries: Entries, *, base: str, space: str) -> Manifest:
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
    return Manifest.model_validate(
        {
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
    )


def reconcile(entries: Entries, batch: QueryBatch) -> ResultBatch:
    """Find the candidates of each query.

    Raises ``Refused`` (413) for too many queries, or too many values in them.
    """
    if len(batch.root) > _BATCH:
        raise Refused(413, f"{len(batch.root):,} queries: at most {_BATCH} at once.")
    n_values = sum(len(_given(one)) for q in batch.root.values() for one in q.properties or ())
    if n_values > _VALUES:
        raise Refused(413, f"{n_values:,} values of properties: at most {_VALUES:,} at once.")
    return ResultBatch({name: _candidates(entries, query) for name, query in batch.root.items()})


def _candidates(entries: Entries, query: Query) -> Result:
    limit = _LIMIT if query.limit is None else int(min(query.limit, _MOST))
    if limit < 1:
        return Result(result=[])
    kinds = [query.type] if isinstance(query.type, str) else query.type or []
    filters, name = query.properties or [], (query.query or "")[:_LONG]
    if name.strip():
        n = _MOST if filters else max(limit, 2)  # two decide whether the best is a match
        found = entries.search(name, limit=n, kinds=kinds)
    else:
        found = _by_properties(entries, filters, kinds)
    judged = [_judge(one, alike, filters, has_name=bool(name.strip())) for one, alike in found]
    judged.sort(key=lambda one: -one[1])  # stable: of equal scores, the order of the search stays
    second = judged[1][1] if len(judged) > 1 else 0.0
    is_sure = bool(judged) and judged[0][1] >= _MATCH and judged[0][1] - second >= _APART
    return Result(
        result=[
            _candidate(one, score, features, is_sure=is_sure and not place)
            for place, (one, score, features) in enumerate(judged[:limit])
        ]
    )


def _by_properties(
    entries: Entries, filters: Sequence[PropertyFilter], kinds: Sequence[str]
) -> list[tuple[Found, float]]:
    """Find entries by their properties alone: the one that has a given id, else all that fit.

    All filters must fit. Each entry found has the similarity 100; there are at most ``_MOST``.
    """
    for one in filters:
        for value in _given(one):
            if found := entries.entry(f"{one.pid}:{_written(value)}"):
                return [(found, 100.0)]
    wanted = set(kinds) & set(entries.source.kinds)
    every = (one for one in entries.all() if not wanted or wanted.intersection(one.kinds))
    fitting = (one for one in every if all(_fit(one, filter) >= 1 for filter in filters))
    return [(one, 100.0) for one in islice(fitting, _MOST)]


def _judge(
    found: Found, alike: float, filters: Sequence[PropertyFilter], *, has_name: bool
) -> tuple[Found, float, list[Feature]]:
    """Compute the score of an entry, from 0 to 100; return the entry, score and its features."""
    features = [Feature(id="name_similarity", value=round(alike, 3))] if has_name else []
    if not filters:
        return found, alike, features
    fits = {one.pid: _fit(found, one) for one in filters}
    features += [Feature(id=f"property_{pid}", value=round(fit, 3)) for pid, fit in fits.items()]
    known = sum(fits.values()) / len(fits)
    return found, (1 - _OF_PROPERTIES) * alike + _OF_PROPERTIES * 100 * known, features


def _fit(found: Found, asked: PropertyFilter) -> float:
    """Compute how well a property fits, from 0 to 1: the similarity of its best values."""
    own, given = found.properties.get(asked.pid, ()), _given(asked)
    return max((_alike(value, _written(one)) for value in own for one in given), default=0.0)


def _given(asked: PropertyFilter) -> list[PropertyValue]:
    return asked.v if isinstance(asked.v, list) else [asked.v]


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
    found: Found, score: float, features: Sequence[Feature], *, is_sure: bool
) -> Candidate:
    judged = {"score": round(score, 3), "match": is_sure, "features": list(features)}
    kinds = [_named(kind) for kind in found.kinds]
    return Candidate.model_validate({**_about(found), **judged, "type": kinds})


def suggest(entries: Entries, prefix: str, *, skip: int) -> SuggestedEntities:
    """Find entities with a form that begins with ``prefix``, without the first ``skip``."""
    start = min(max(skip, 0), len(entries))
    found = islice(entries.beginning(prefix), start, start + _SUGGESTED)
    suggested = [{**_about(one), "notable": [_named(kind) for kind in one.kinds]} for one in found]
    return SuggestedEntities.model_validate({"result": suggested})


def _about(found: Found) -> dict[str, str]:
    about = {"description": found.description} if found.description else {}
    return {"id": found.id, "name": found.name, **about}


def extend(entries: Entries, query: ExtendQuery) -> ExtendAnswer:
    """List the values of properties of entities; none for an unknown entity or property.

    Raises ``Refused`` (413) for too many entities or properties.
    """
    if len(query.ids) > _IDS:
        raise Refused(413, f"{len(query.ids):,} entities: at most {_IDS:,} at once.")
    if len(query.properties) > _PROPERTIES:
        n = len(query.properties)
        raise Refused(413, f"{n:,} properties: at most {_PROPERTIES} at once.")
    rows: dict[str, dict[str, list[dict[str, str]]]] = {}
    for id in query.ids:
        found = entries.entry(id)
        of_entity = found.properties if found else {}
        rows[id] = {one.id: _cells(of_entity.get(one.id, ()), one) for one in query.properties}
    meta = [_named(one.id) for one in query.properties]
    return ExtendAnswer.model_validate({"meta": meta, "rows": rows})


def _cells(values: Sequence[Value], asked: ExtendedProperty) -> list[dict[str, str]]:
    given = str((asked.settings or {}).get("limit", 0))
    limit = int(given) if _COUNT.fullmatch(given) else 0
    chosen = values[:limit] if limit else values
    return [{"id": v.id, "name": v.text} if v.id is not None else {"str": v.text} for v in chosen]


def _named(id: str) -> dict[str, str]:
    return {"id": id, "name": id}


def _beginning(names: Iterable[str], start: str, *, skip: int) -> list[dict[str, str]]:
    found = [_named(name) for name in names if fold(name).startswith(fold(start))]
    return found[max(skip, 0) :]


def page(found: Found) -> str:
    """Render a fragment of HTML about an entity, with styles of its own alone."""
    facts = [
        (name, "; ".join(value.text for value in values[:8]))
        for name, values in found.properties.items()
        if values and name not in {"name", "description"}
    ]
    texts = [", ".join((*found.kinds, found.id)), found.description]
    return render("small", title=found.name, texts=texts, facts=facts)
