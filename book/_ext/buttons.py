"""Sphinx extension of the book: buttons that lead to the repository, Binder and Colab.

Without an address in ``_config.yml`` there are none. The theme also puts launch buttons on written
pages with code cells, but Colab opens no Markdown file.
"""

from __future__ import annotations

from typing import Any

__all__ = ["keep_on_notebooks", "only_with_an_address", "setup"]


def only_with_an_address(app: Any, config: Any) -> None:
    """Switch the theme's buttons off if the repository has no address."""
    options = config.html_theme_options
    if not options.get("repository_url"):
        off = {"use_repository_button": False, "use_issues_button": False, "launch_buttons": {}}
        options.update(off)


def keep_on_notebooks(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Remove the theme's group of launch buttons from a page whose source is no notebook."""
    if context.get("page_source_suffix") != ".ipynb":
        buttons = context.get("header_buttons", [])
        context["header_buttons"] = [b for b in buttons if b.get("label") != "launch-buttons"]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, after the theme, which adds its buttons at priority 501."""
    app.connect("config-inited", only_with_an_address)
    app.connect("html-page-context", keep_on_notebooks, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
