"""How Sphinx builds the site (make site). Every warning is an error there."""

from sphinx.application import Sphinx

from goop_mcp import __version__

project = "goop-mcp"
author = "goop-mcp contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_llms_txt"]
# What is copied are the commands, without the prompt and without what they print.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
# llms.txt and llms-full.txt: the pages for agents that read documentation.
# A ledger for the developers, larger than all guides together.
llms_txt_exclude = ["requirements"]
llms_txt_summary = (
    "goop-mcp checks the structured reports that coding agents hand back, before anyone acts on"
    " them: it repairs formatting, sends errors back with line numbers, verifies claims, and picks"
    " the next step. A library, a command line, an MCP server and hooks for hosts."
)
exclude_patterns = ["_site"]
nitpicky = True
# Links to headings are written as GitHub makes them, so that they work in both places.
myst_heading_anchors = 4

html_theme = "furo"
html_title = "goop-mcp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# The pages for agents are made of the sources.
html_copy_source = True
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
# Nothing is fetched from elsewhere: the site can be opened from a folder, offline.
html_use_opensearch = ""
# Furo's own styles for the dark scheme go with it.
# A block without a language holds a command or what somebody reads, not Python.
highlight_language = "text"
pygments_style = "default"
pygments_dark_style = "github-dark"
# Whole replies and templates are shown as they are; what looks like JSON may hold alternatives.
suppress_warnings = ["misc.highlighting_failure"]

# The Python API is generated from the docstrings, in which backticks mark code.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
default_role = "code"
# The types of other packages and of the standard library have no pages here.
nitpick_ignore_regex = [("py:.*", ".*")]


def setup(app: Sphinx) -> None:
    """Show the fields that a docstring explains, one a line, as a list."""
    app.connect("autodoc-process-docstring", _list_fields)


def _list_fields(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    shown: list[str] = []
    for line in lines:
        name, colon, text = line.partition(": ")
        if colon and name.replace(", ", "").replace("_", "").isalnum() and name.islower():
            if shown and shown[-1] and not shown[-1].startswith(("- ", "  ")):
                shown.append("")
            shown.append(f"- `{name}`: {text}")
        elif line.startswith("    ") and shown and shown[-1].startswith(("- ", "  ")):
            shown.append(f"  {line.strip()}")
        else:
            shown.append(line)

    lines[:] = shown
