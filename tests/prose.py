"""Read what the project says in words: Markdown without code and math, docstrings and comments."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

PARSER = MarkdownIt("commonmark").enable("table")
for plugin in (
    front_matter_plugin,
    myst_block_plugin,
    myst_role_plugin,
    amsmath_plugin,
    dollarmath_plugin,
    colon_fence_plugin,
    deflist_plugin,
):
    PARSER.use(plugin)

# Directives whose content is not prose.
CODE = {"code-cell", "code-block", "math", "literalinclude", "eval-rst", "bibliography"}
# Stands for a formula, a piece of code or a glued value, so that its neighbours stay apart.
HOLE = "\N{WHITE SQUARE}"

# A decimal number, or any number in percent. Numbers of sections and of statements are names.
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)+(?![\w.]*\d)|(?<![\w.])\d+(?=\s?%|\s+percent\b)")
NAMED = re.compile(r"\b(?:Section|Table|Figure|Lemma|Theorem|Algorithm|Appendix) [A-Z\d.]+\d\b")

FORBIDDEN = {
    "talk of how the text came about": re.compile(r"\b(?:sessions?|assistants?|chatbots?)\b", re.I),
    "an issue's number": re.compile(r"(?<![\w&/(])#\d+\b"),
    "a path of one machine": re.compile(r"(?<![\w.:/])/(?:work|tmp|home|root)\b"),
    "a package registry": re.compile(r"--(?:extra-)?index-url|--find-links|--registry|/simple\b"),
    "unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX)\b"),
}


def _directive(token: Token) -> Iterator[str]:
    match = re.match(r"\{([\w:-]+)\}\s*(.*)", token.info.strip())
    if match is None or match[1] in CODE:
        return
    yield from prose(match[2])
    options = re.match(r"(?::[\w-]+:.*\n)*", token.content)
    assert options is not None
    yield from re.findall(r"^:alt: *(.*)$", options[0], flags=re.MULTILINE)
    yield from prose(token.content[options.end() :])


def prose(markdown: str) -> Iterator[str]:
    """Yield the words of a Markdown text, a paragraph each.

    >>> list(prose("About *0.5* of `0.1` and $0.2$; {glue:text}`x:.3f`\\n\\n```\\n0.4\\n```"))
    ['About 0.5 of □ and □; □']
    """
    for token in PARSER.parse(markdown):
        if token.type in ("fence", "colon_fence"):
            yield from _directive(token)
        elif token.type == "inline":
            children = [c for c in token.children or [] if not c.nesting]
            yield "".join(
                c.content if c.type == "text" else " " if c.type.endswith("break") else HOLE
                for c in children
            )


def numbers(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield each typed number of a Markdown text with the words around it.

    >>> [n for n, _ in numbers("In Section 4.2 it is 0.83, or 12.5 %, or 90 percent of 300.")]
    ['0.83', '12.5', '90']
    """
    for paragraph in prose(markdown):
        text = NAMED.sub(HOLE, paragraph)
        for match in NUMBER.finditer(text):
            yield match[0], text[max(0, match.start() - 40) : match.end() + 30].strip()


def notebook_cells(path: Path) -> list[dict]:
    """Cells of a notebook, their sources as one string."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells]


def markdown_of(path: Path) -> str:
    """Markdown of a page or of a notebook, with the captions and descriptions of its figures."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    parts = []
    for cell in notebook_cells(path):
        myst = cell["metadata"].get("mystnb", {})
        parts.append(cell["source"] if cell["cell_type"] == "markdown" else "")
        parts.append(myst.get("figure", {}).get("caption", ""))
        parts.append(myst.get("image", {}).get("alt", ""))
    return "\n\n".join(parts)


def remarks(source: str) -> Iterator[str]:
    """Yield the strings that stand alone, such as docstrings, and the comments of a Python source.

    >>> list(remarks("'''A module.'''\\nx = '# no'  # yes"))
    ['A module.', '# yes']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def everything_said(path: Path) -> str:
    """All words of a file: of Python code its remarks, of notebooks not the pictures."""
    if path.suffix == ".py":
        return "\n".join(remarks(path.read_text(encoding="utf-8")))
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    parts = [markdown_of(path)]
    for cell in notebook_cells(path):
        parts.append(cell["source"])
        for output in cell.get("outputs", []):
            parts.append("".join(output.get("text", [])))
            for kind in ("text/plain", "text/html"):
                parts.append("".join(output.get("data", {}).get(kind, [])))
    return "\n".join(parts)


def forbidden(text: str) -> Iterator[str]:
    """Yield what the project must not say, with the words around it."""
    for what, pattern in FORBIDDEN.items():
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 30]
            yield f"{what}: {' '.join(around.split())}"
