"""What JUnit and SARIF files must look like.

SARIF: the parts of "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS Standard, 27 March 2020,
that are written here, each with its section. Properties that the standard has and that are not written are left out, so
that a misspelled one is an error.

JUnit has no standard. The schema follows the attributes and children that Jenkins' xUnit plugin accepts, which is the
strictest reader in wide use: only these attributes, and the children of a case in any order.
"""

from __future__ import annotations

from typing import Any

__all__ = ["JUNIT", "SARIF"]


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


_TEXT = {"type": "string"}
_FILLED = {"type": "string", "minLength": 1}
_MESSAGE = _object(["text"], text=_FILLED)  # 3.11
_BAG = {"type": "object"}  # 3.8
_LOCATION = _object(  # 3.28, 3.29, 3.4, 3.30
    ["physicalLocation"],
    physicalLocation=_object(
        ["artifactLocation"],
        artifactLocation=_object(["uri"], uri={"type": "string", "format": "uri-reference", "minLength": 1}),
        region=_object(["startLine"], startLine={"type": "integer", "minimum": 1}),
    ),
)
_LOCATIONS = {"type": "array", "items": _LOCATION, "minItems": 1, "uniqueItems": True}
_RULE = _object(  # 3.49
    ["id"],
    id=_FILLED,
    name=_TEXT,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    defaultConfiguration=_object([], level={"enum": ["none", "note", "warning", "error"]}),  # 3.50
)
_RESULT: dict[str, Any] = _object(  # 3.27
    ["message", "ruleId", "ruleIndex", "kind", "level"],
    ruleId=_FILLED,
    ruleIndex={"type": "integer", "minimum": 0},
    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations=_LOCATIONS,
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},  # 3.27.17
    properties=_BAG,
)
_RESULT |= {  # 3.27.10: where kind is not "fail", level is "none"
    "if": {"properties": {"kind": {"const": "fail"}}},
    "then": {"properties": {"level": {"enum": ["note", "warning", "error"]}}},
    "else": {"properties": {"level": {"const": "none"}}},
}
_NOTIFICATION = _object(  # 3.58
    ["message"],
    message=_MESSAGE,
    level={"enum": ["none", "note", "warning", "error"]},
    locations=_LOCATIONS,
    exception=_object([], kind=_TEXT, message=_TEXT),  # 3.59
)
_INVOCATION = _object(  # 3.20
    ["executionSuccessful"],
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications={"type": "array", "items": _NOTIFICATION},
)
_RUN = _object(  # 3.14
    ["tool", "results"],
    tool=_object(  # 3.18, 3.19
        ["driver"],
        driver=_object(
            ["name"], name=_FILLED, version=_TEXT, rules={"type": "array", "items": _RULE, "uniqueItems": True}
        ),
    ),
    invocations={"type": "array", "items": _INVOCATION},
    results={"type": "array", "items": _RESULT},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},  # 3.14.17
)
SARIF = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(  # 3.13
        ["version", "runs"],
        **{"$schema": {"type": "string", "format": "uri"}},
        version={"const": "2.1.0"},
        runs={"type": "array", "items": _RUN},
    ),
}
"""A SARIF log."""

JUNIT = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">
  <xs:simpleType name="seconds">
    <xs:restriction base="xs:decimal"><xs:minInclusive value="0"/></xs:restriction>
  </xs:simpleType>
  <xs:complexType name="problem">
    <xs:simpleContent><xs:extension base="xs:string">
      <xs:attribute name="type" type="xs:string"/>
      <xs:attribute name="message" type="xs:string"/>
    </xs:extension></xs:simpleContent>
  </xs:complexType>
  <xs:element name="testcase">
    <xs:complexType>
      <xs:choice minOccurs="0" maxOccurs="unbounded">
        <xs:element name="skipped" type="problem"/>
        <xs:element name="error" type="problem"/>
        <xs:element name="failure" type="problem"/>
        <xs:element name="system-out" type="xs:string"/>
        <xs:element name="system-err" type="xs:string"/>
      </xs:choice>
      <xs:attribute name="name" type="xs:string" use="required"/>
      <xs:attribute name="classname" type="xs:string" use="required"/>
      <xs:attribute name="time" type="seconds"/>
    </xs:complexType>
  </xs:element>
  <xs:attributeGroup name="counts">
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="time" type="seconds"/>
  </xs:attributeGroup>
  <xs:element name="testsuite">
    <xs:complexType>
      <xs:sequence><xs:element ref="testcase" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
      <xs:attributeGroup ref="counts"/>
      <xs:attribute name="skipped" type="xs:nonNegativeInteger"/>
      <xs:attribute name="timestamp" type="xs:dateTime"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="testsuites">
    <xs:complexType>
      <xs:sequence><xs:element ref="testsuite" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
      <xs:attributeGroup ref="counts"/>
    </xs:complexType>
  </xs:element>
</xs:schema>
"""
"""A JUnit file, as XML Schema."""
