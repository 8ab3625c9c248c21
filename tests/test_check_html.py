"""The checker of the built book: a clean site has no problems, a broken one all of them."""

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


def test_clean_site_has_no_problems(site, capsys):
    assert main([str(site.root)], site.toc) == 0
    assert capsys.readouterr().out == "4 pages checked, 0 problems\n"


BROKEN = {
    "<p>raw $x</p>": "'$' in the text",
    "<p>{glue:text}`distance:.2f`</p>": "'{glue:' in the text",
    "<div class='cell_output'><pre>np.int64(3)</pre></div>": "'np.int64(' in the text",
    "<span class='problematic'>`m`</span>": "an error message in the page: `m`",
    "<span class='xref std std-ref'>fig</span>": "an unresolved reference: fig",
    "<code class='xref py'>steinsdr.nothing</code>": "unresolved reference: steinsdr.nothing",
    "<script src='//cdn.example.org/m.js'></script>": "loads //cdn.example.org",
    "<img src='../_images/none.png' alt='x'>": "none.png is missing or empty",
    "<figure id='f'><figcaption> </figcaption></figure>": "a figure without a caption: f",
    f"<article><img src='{FIGURE}' alt='{FIGURE}'></article>": "a picture without a description",
    f"<p class='cell_output'><img src='{FIGURE}' alt='x'></p>": "a picture outside of a figure",
    "<meta http-equiv='Refresh' content='0; url=none.html'>": "a broken link: none.html",
    "<a href='method.html#none'>x</a>": "a link to a missing anchor: method.html#none",
    "<div class='cell_input'><pre>from steinsdr import x</pre></div>": "without a link to the API",
}


def test_broken_site_has_all_its_problems(site, capsys):
    page = site.root / "book/intro.html"
    page.write_text(PAGE.replace("<!-- planted -->", "\n".join(BROKEN)))
    (site.root / "notebooks/01_quickstart.html").unlink()
    (site.root / "_static/style.css").write_text("@import 'https://x.org/a.css';")
    found = list(problems(site))
    expected = [*BROKEN.values(), "01_quickstart.html is missing", "style.css: loads https://x.org"]
    for words in expected:
        assert sum(words in problem for problem in found) == 1, words
    assert len(found) == len(expected)
    assert main([str(site.root)], site.toc) == 1
    assert capsys.readouterr().out.endswith(f"3 pages checked, {len(expected)} problems\n")
