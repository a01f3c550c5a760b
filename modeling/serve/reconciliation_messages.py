"""The requests of the Reconciliation Service API 0.2, and of the draft of 1.0.

A request is accepted or refused as by the specification's schema of the same name
(``reconciliation-api/specs`` at 8d66bdb, July 2026).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, RootModel, model_validator


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


class ExtendedProperty(_Open):
    """A property whose values are asked for."""

    id: str
    settings: dict[str, object] | None = None


class ExtendQuery(_Open):
    """The entities and the properties whose values are asked for."""

    ids: list[str]
    properties: list[ExtendedProperty]


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
