"""How Sphinx builds the site (make site). Every warning is an error there."""

from goop_mcp import __version__

project = "goop-mcp"
author = "goop-mcp contributors"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_site"]
nitpicky = True
# Links to headings are written as GitHub makes them, so that they work in both places.
myst_heading_anchors = 4

html_theme = "furo"
html_title = "goop-mcp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages of their own, copied as they are.
html_extra_path = ["_pages"]
html_copy_source = False
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
