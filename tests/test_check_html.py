"""The checker of the built book finds each defect planted in a clean page."""

import pytest
from check_html import Site, main, problems

FIGURE = "../_images/figure.png"
TOC = """
root: book/intro
parts:
  - caption: Start
    chapters:
      - file: notebooks/01_quickstart
        sections:
          - file: book/method.md
"""
PAGE = """<!DOCTYPE html>
<html><head><title>$</title><link rel="stylesheet" href="../_static/style.css"></head>
<body><h1 id="top">Title</h1>
<p>Prose with <span class="math">\\(x\\)</span>, <code>$HOME</code> and
<a href="https://example.org/elsewhere">a link to elsewhere</a>.</p>
<a href="method.html#top"><span class="std std-ref xref">Method</span></a>
<a class="xref doc" href="method.html"><span class="doc">Method</span></a>
<code class="xref py py-class">numpy.ndarray</code>
<div class="cell_input"><pre>np.float64(1.0)</pre></div>
<div class="cell_input"><pre>
from <a class="sphinx-codeautolink-a" href="method.html#top">steinsdr</a> import rank</pre></div>
<div class="cell_output"><pre>1.0</pre>
<figure><img src="../_images/figure.png" alt="A line">
<figcaption>A figure</figcaption></figure></div>
<!-- planted -->
</body></html>
"""


@pytest.fixture
def site(tmp_path):
    """A clean site of three pages, a style sheet and a picture."""
    files = {
        "_toc.yml": TOC,
        "html/index.html": "<html><body></body></html>",
        "html/book/intro.html": PAGE,
        "html/book/method.html": PAGE,
        "html/notebooks/01_quickstart.html": PAGE.replace("method.html", "../book/method.html"),
        "html/_static/style.css": "a { background: url('data:image/png;base64,xyz') }",
        "html/_images/figure.png": "PNG",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Site(tmp_path / "html", tmp_path / "_toc.yml")


def test_clean_site_has_no_problems(site):
    assert list(problems(site)) == []


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ("<p>raw $x</p>", "'$' in the text"),
        ("<p>```{note}</p>", "'```' in the text"),
        ("<p>::: lemma</p>", "':::' in the text"),
        ("<p>{glue:text}`distance:.2f`</p>", "'{glue:' in the text"),
        ("<p>a distance of np.float64(0.5)</p>", "'np.float64(' in the text"),
        ("<div class='cell_output'><pre>np.int64(3)</pre></div>", "'np.int64(' in the text"),
        ("<span class='problematic'>`m`</span>", "an error message in the page: `m`"),
        ("<span class='xref std std-ref'>fig</span>", "an unresolved reference: fig"),
        ("<code class='xref py'>steinsdr.nothing</code>", "unresolved reference: steinsdr.nothing"),
        ("<script src='https://cdn.example.org/m.js'></script>", "loads https://cdn.example.org"),
        ("<script src='//cdn.example.org/m.js'></script>", "loads //cdn.example.org"),
        ("<link rel='preload' href='https://fonts.example.org/f'>", "loads https://fonts"),
        ("<img src='../_images/none.png' alt='x'>", "none.png is missing or empty"),
        ("<a class='xref std std-doc'>nowhere</a>", "an unresolved reference: nowhere"),
        ("<figure id='f'></figure>", "a figure without a caption: f"),
        ("<figure id='f'><figcaption> </figcaption></figure>", "a figure without a caption: f"),
        (f"<article><img src='{FIGURE}'></article>", "a picture without a description"),
        (f"<article><img src='{FIGURE}' alt=' '></article>", "a picture without a description"),
        (f"<article><img src='{FIGURE}' alt='{FIGURE}'></article>", "without a description"),
        (f"<p class='cell_output'><img src='{FIGURE}' alt='x'></p>", "outside of a figure"),
        ("<meta http-equiv='Refresh' content='0; url=none.html'>", "a broken link: none.html"),
        ("<a href='none.html'>x</a>", "a broken link: none.html"),
        ("<a href='#none'>x</a>", "a link to a missing anchor: #none"),
        (
            "<div class='cell_input'><pre>from steinsdr import x</pre></div>",
            "without a link to the API",
        ),
        ("<a href='method.html#none'>x</a>", "a link to a missing anchor: method.html#none"),
    ],
)
def test_planted_defect_is_found(site, planted, expected):
    page = site.root / "book/intro.html"
    page.write_text(PAGE.replace("<!-- planted -->", planted))
    (problem,) = problems(site)
    assert problem.startswith("book/intro.html: ")
    assert expected in problem


def test_missing_page_is_found(site):
    (site.root / "notebooks/01_quickstart.html").unlink()
    assert list(problems(site)) == ["notebooks/01_quickstart.html is missing"]


def test_empty_picture_is_found(site):
    (site.root / "_images/figure.png").write_text("")
    assert len(list(problems(site))) == 3


@pytest.mark.parametrize("rule", ["@import 'https://x.org/a.css';", "a { src: url(//x.org/f) }"])
def test_style_sheet_from_elsewhere_is_found(site, rule):
    (site.root / "_static/style.css").write_text(rule)
    (problem,) = problems(site)
    assert "style.css: loads" in problem


def test_exit_code_tells(site, capsys):
    assert main([str(site.root)], site.toc) == 0
    (site.root / "book/intro.html").write_text(PAGE.replace("Title", "$"))
    assert main([str(site.root)], site.toc) == 1
    assert capsys.readouterr().out.endswith("4 pages checked, 1 problems\n")
