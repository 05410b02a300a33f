"""The resources: rules, schemas, protocol pages and templates; all but single rules are listed."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from mcp.server.mcpserver.resources import FunctionResource
from pydantic import JsonValue

from goop_mcp.errors import UnknownNameError
from goop_mcp.server.server import GoopServer
from goop_mcp.services.protocol_pages import list_documents, read_document
from goop_mcp.services.rule_pages import rule_page, rules_markdown
from goop_mcp.services.schemas import Schema, find_schema, list_schemas
from goop_mcp.services.templates import Template, list_templates, read_template
from goop_mcp.validation.findings import counted_noun
from goop_mcp.validation.rules import RuleBook
from goop_mcp.workspace.document_templates import (
    DocumentTemplate,
    document_template,
    document_template_names,
    read_document_template,
)

__all__ = ["add_resources"]

_MARKDOWN = "text/markdown"
_JSON_SCHEMA = "application/schema+json"
_SCHEMAS = "goop://schemas/{protocol}/{version}"
_OTHER_DOCUMENTS = {
    "visual_style": (
        "The visual style",
        "The form of messages that agents show to people, each with an example.",
    ),
    "blueprint": (
        "How BLUEPRINT.md is read",
        "The forms of waves and tasks in a plan, with an example, for planners.",
    ),
    "spec": (
        "How SPEC.md is read",
        "The form of must-haves, and how a verifier proves them, with an example.",
    ),
}
"""Title and description of the pages that are not about a protocol, by name."""


def add_resources(
    server: GoopServer,
    book: RuleBook,
    *,
    answers: Mapping[str, Mapping[str, JsonValue]],
    project: Path | None,
) -> None:
    """Offer all resources of `server`; the rules are those in `book`.

    `answers` are the schemas of the structured answers by the names of their tools. `project` is
    the folder whose own templates are read, None on a server that keeps no files.
    """
    server.resource(
        "goop://rules",
        name="rules",
        title="All rules",
        description=(
            "Every rule with its severity in both modes, what it catches and how to fix it."
        ),
        mime_type=_MARKDOWN,
    )(partial(rules_markdown, book))
    for schema in list_schemas():
        server.add_resource(_schema_resource(schema))

    for name in list_documents():
        title, description = _OTHER_DOCUMENTS.get(
            name,
            (
                f"How {name} works",
                f"What an envelope of {name} contains and how it is validated, for authors of"
                " agents.",
            ),
        )
        server.add_resource(
            FunctionResource(
                uri=f"goop://docs/{name}",
                name=f"docs-{name}",
                title=title,
                description=description,
                mime_type=_MARKDOWN,
                fn=partial(read_document, name),
            )
        )

    for template in list_templates():
        server.add_resource(
            _template_resource(
                template,
                f"A prompt with {counted_noun(len(template.slots), 'slot')} to be filled in.",
                read=read_template,
            )
        )

    for name in document_template_names():
        server.add_resource(
            _template_resource(
                document_template(name),
                "The form of a document of the project.",
                read=read_document_template,
            )
        )

    _add_patterns(server, book, answers, project)


def _schema_resource(schema: Schema) -> FunctionResource:
    return FunctionResource(
        uri=schema.uri,
        name=f"schema-{schema.protocol}-{schema.version}",
        title=schema.title,
        description=f"Machine contract of {schema.protocol} {schema.version}.",
        mime_type=schema.media_type,
        fn=lambda: schema.text,
    )


def _template_resource(
    template: Template | DocumentTemplate, form: str, *, read: Callable[[str], str]
) -> FunctionResource:
    return FunctionResource(
        uri=f"goop://templates/{template.name}",
        name=f"template-{template.name}",
        title=template.title,
        description=f"{template.description} {form}",
        mime_type=_MARKDOWN,
        fn=partial(read, template.name),
    )


def _add_patterns(
    server: GoopServer,
    book: RuleBook,
    answers: Mapping[str, Mapping[str, JsonValue]],
    project: Path | None,
) -> None:
    @server.resource(
        "goop://rules/{protocol}/{name}",
        name="rule",
        title="One rule",
        description="The page of one rule: why, a bad and a good example, the fix.",
        mime_type=_MARKDOWN,
    )
    def rule(protocol: str, name: str) -> str:
        return rule_page(book.find(f"{protocol}/{name}")).to_markdown()

    # Its addresses also have the form of the next template, and the first that fits is read.
    @server.resource(
        "goop://schemas/answers/{tool}",
        name="answer-schema",
        title="The schema of an answer",
        description="What each key of a tool's structured answer means, short and full.",
        mime_type=_JSON_SCHEMA,
    )
    def answer_schema(tool: str) -> str:
        if tool not in answers:
            raise UnknownNameError("tool", tool, answers)
        return json.dumps(answers[tool], ensure_ascii=False, indent=2)

    @server.resource(
        _SCHEMAS,
        name="schema",
        title="One schema",
        description=("The machine contract of a version of a protocol: an XSD, or a JSON Schema."),
    )
    def schema(protocol: str, version: str) -> str:
        return find_schema(protocol, version).text

    server.declare_types(
        _SCHEMAS,
        lambda protocol, version: (
            _JSON_SCHEMA if protocol == "answers" else find_schema(protocol, version).media_type
        ),
    )

    @server.resource(
        "goop://docs/{protocol}",
        name="docs",
        title="One protocol",
        description="Content and validation of the envelopes of a protocol; also visual_style.",
        mime_type=_MARKDOWN,
    )
    def document(protocol: str) -> str:
        return read_document(protocol)

    @server.resource(
        "goop://templates/{name}",
        name="template",
        title="One template",
        description=(
            "A whole prompt for a common task, also one of the project's own, or the form of a"
            " document; its slots are listed at the top."
        ),
        mime_type=_MARKDOWN,
    )
    def template(name: str) -> str:
        if name in document_template_names():
            return read_document_template(name)
        return read_template(name, project=project)
