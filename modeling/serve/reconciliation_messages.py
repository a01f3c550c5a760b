"""The requests and answers of the Reconciliation Service API 0.2, and requests of the draft of 1.0.

A request is accepted or refused as by the specification's schema of the same name
(``reconciliation-api/specs`` at 8d66bdb, July 2026). Answers have the fields that are sent.
"""

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    RootModel,
    StringConstraints,
    model_validator,
)

WithId = Annotated[str, StringConstraints(pattern=r"\{\{id\}\}")]


class _Open(BaseModel):
    """A message that may have unknown fields; no value is converted to another type."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _has_no_null(cls, given: object) -> object:
        """Refuse null: an optional field is left out instead."""
        if isinstance(given, dict) and any(
            given.get(name, "") is None for name in cls.model_fields
        ):
            raise ValueError("null is no value; leave the field out")
        return given


class _Closed(_Open):
    model_config = ConfigDict(strict=True, extra="forbid")


class EntityType(_Open):
    """A type of entities."""

    id: str
    name: str
    description: str | None = None


class KindReference(_Open):
    """A type, named by its id."""

    id: str
    name: str | None = None


class ServicePath(_Open):
    """The address of a part of the service."""

    service_url: str | None = None
    service_path: str | None = None
    flyout_service_url: str | None = None
    flyout_service_path: str | None = None


class Suggest(_Open):
    """The kinds of suggestions that the service offers."""

    entity: ServicePath | None = None
    property: ServicePath | None = None
    type: ServicePath | None = None


class EntityView(_Open):
    """A page for an id."""

    url: WithId


class Preview(EntityView):
    """A page for an id, and its size in pixels."""

    width: int
    height: int


class NumberSetting(_Open):
    """A setting of a property that is a number."""

    type: Literal["number"]
    label: str
    name: str
    help_text: str | None = None
    default: int | float | None = None


class Extend(_Open):
    """The offer to fetch values of properties, and its settings."""

    propose_properties: ServicePath | None = None
    property_settings: list[NumberSetting] | None = None


def _with_current(versions: list[str]) -> list[str]:
    if "0.2" not in versions:
        raise ValueError("0.2 is not among the versions")
    return versions


class ServiceManifest(_Open):
    """The manifest: what the service is and offers."""

    versions: Annotated[list[str], AfterValidator(_with_current)]
    name: str
    identifierSpace: str  # noqa: N815 - names of the specification
    schemaSpace: str  # noqa: N815
    defaultTypes: list[EntityType] | None = None  # noqa: N815
    serviceVersion: str | None = None  # noqa: N815
    view: EntityView | None = None
    preview: Preview | None = None
    suggest: Suggest | None = None
    extend: Extend | None = None
    batchSize: int | None = None  # noqa: N815


class EntityValue(_Open):
    """A value that is another entity."""

    id: str
    name: str | None = None


PropertyValue = str | bool | int | float | EntityValue


class PropertyFilter(_Open):
    """A property that the entity should have, with its value or values."""

    pid: str
    v: PropertyValue | list[PropertyValue]


class Query(_Closed):
    """A query for entities, by a name, by properties, or both."""

    query: str | None = None
    type: str | list[str] | None = None
    limit: int | FiniteFloat | None = None
    properties: list[PropertyFilter] | None = None
    type_strict: Literal["any", "should", "all"] | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> "Query":
        if self.query is None and not self.properties:
            raise ValueError("query or properties is needed")
        return self


class QueryBatch(RootModel[dict[str, Query]]):
    """Queries by name."""


class Feature(_Open):
    """A number by which a candidate can be judged."""

    id: str | None = None
    name: str | None = None
    value: bool | int | float | None = None


class ReconciledEntity(_Open):
    """An entity that may be meant."""

    id: str
    name: str
    score: int | float
    description: str | None = None
    features: list[Feature] | None = None
    match: bool | None = None
    type: list[KindReference | str] | None = None


class Result(_Open):
    """The candidates of a query, the best first."""

    result: list[ReconciledEntity]


class ResultBatch(RootModel[dict[str, Result]]):
    """Candidates by the names of the queries."""


class SuggestedEntity(_Open):
    """An entity that is suggested."""

    id: str
    name: str
    description: str | None = None
    notable: list[KindReference | str] | None = None


class SuggestedProperty(_Open):
    """A property that is suggested."""

    id: str
    name: str
    description: str | None = None


class SuggestedEntities(_Open):
    """Entities that are suggested."""

    result: list[SuggestedEntity]


class SuggestedProperties(_Open):
    """Properties that are suggested."""

    result: list[SuggestedProperty]


class SuggestedTypes(_Open):
    """Types that are suggested."""

    result: list[EntityType]


class ProposedProperties(_Open):
    """Properties that entities of a type may have."""

    properties: list[SuggestedProperty]
    type: str | None = None
    limit: int | float | None = None


class ExtendedProperty(_Open):
    """A property whose values are asked for."""

    id: str
    settings: dict[str, object] | None = None


class ExtendQuery(_Open):
    """The entities and the properties whose values are asked for."""

    ids: list[str]
    properties: list[ExtendedProperty]


class ExtendMeta(_Open):
    """A property of an answer."""

    id: str
    name: str


class _EntityCell(_Closed):
    id: str
    name: str
    description: str | None = None


class _StringCell(_Closed):
    str: str


Cell = _EntityCell | _StringCell


class ExtendAnswer(_Open):
    """The values of each property of each entity."""

    meta: list[ExtendMeta]
    rows: dict[str, dict[str, list[Cell]]]


class Condition(_Open):
    """A condition of the draft on the names, ids, or values of a property of an entity."""

    matchType: Literal["name", "id", "property"]  # noqa: N815
    propertyId: str | None = None  # noqa: N815
    propertyValue: PropertyValue | list[PropertyValue]  # noqa: N815
    required: bool = False
    matchQuantifier: Literal["any", "all", "none"] = "any"  # noqa: N815

    @model_validator(mode="after")
    def _names_its_property(self) -> "Condition":
        if self.matchType == "property" and self.propertyId is None:
            raise ValueError("a condition on a property needs its propertyId")
        return self


class DraftQuery(_Closed):
    """A query of the draft."""

    type: str | None = None
    limit: int | FiniteFloat | None = None
    lang: str | None = None
    dir: str | None = None
    conditions: Annotated[list[Condition], Field(min_length=1)]


class DraftBatch(_Open):
    """Queries of the draft."""

    queries: list[DraftQuery]
