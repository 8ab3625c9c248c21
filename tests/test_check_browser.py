"""The check in a browser: a clean page has no problems, a broken one all of them."""

from hashlib import sha256
from pathlib import Path

import check_browser
import pytest
from browser.devtools import Browser, find_chromium
from check_browser import main, page_problems, problems, site_pages

CHROMIUM = find_chromium()
MATHJAX = Path(__file__).parent.parent / "book/_vendor/mathjax"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")

# A picture of one pixel.
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
PAGE = """<!DOCTYPE html>
<html><head><title>Clean</title><meta charset="utf-8"><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<script defer src="mathjax/tex-svg-full.js"></script></head>
<body><main><h1>Title</h1>
<p>Text with <span class="math">\\(x^2\\)</span>, <code>\\(x\\)</code> and a picture
<img src="PIXEL" alt="A pixel"></p>
<div class="math">\\[\\int_0^1 f(t)\\, dt\\]</div>
<div style="overflow-x: auto"><div style="width: 2000px">a wide table that scrolls</div></div>
<pre style="overflow: auto">a line of code, too long for a phone, but it scrolls in its box</pre>
<!-- planted -->
</main></body></html>
""".replace("PIXEL", PIXEL)
DARK = "<style>@media (prefers-color-scheme: dark) { body { background: #000 } }</style>"

BROKEN = {
    "<div style='width: 600px'>wide</div>": '390 px, dark: 218 px outside the window: div "wide"',
    "<details><div id=fold style='width: 600px'>w</div></details>": "outside the window: div#fold",
    "<h2>Donaudampfschifffahrtselektrizitätenhauptbetriebswerk</h2>": "outside the window: h2",
    f"<span class=math>\\({'x' * 60}\\)</span>": "window: mjx-con",
    "<script>console.error('planted')</script>": "an error in the console: planted",
    "<script>nothing()</script>": "a script failed: ReferenceError: nothing is not defined",
    "<script src='none.js'></script>": "none.js: net::ERR_FILE_NOT_FOUND",
    "<script src='https://cdn.example.org/m.js'></script>": "cdn.example.org/m.js: net::ERR_NAME",
    "<img src='none.png' alt='x'>": 'a picture is not there: img "none.png"',
    f"<figure><img src='{PIXEL}' alt='x' style='filter: invert(1)'></figure>": "a filter dims img",
    "<span class=math>\\(\\frac{1}\\)</span>": "a formula failed: Missing argument for \\frac",
    "<span class=math>\\(\\nope{x}\\)</span>": "an unknown macro: \\nope",
    "<span class=math>x</span>": '0 formulas set, not one, in span.math "x"',
    "<p>\\begin{align} x</p>": "TeX as text: \\begin{align} x",
    "<p style='color: #888'>pale</p>": 'light: contrast 3.5, too little, of p "pale"',
    "<p style='font-weight: 300'>thin</p>": 'too thin, weight 300: p "thin"',
    DARK: 'dark: contrast 1.0, too little, of h1 "Title"',
    "<script>document.documentElement.dataset.theme = 'light'</script>": "theme light, not dark",
}


@pytest.fixture
def site(tmp_path):
    """A folder with one clean page and MathJax."""
    (tmp_path / "mathjax").symlink_to(MATHJAX)
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def browser():
    with Browser(CHROMIUM) as browser:
        yield browser


def plant(site, html):
    page = site / "page.html"
    page.write_text(PAGE.replace("<!-- planted -->", html), encoding="utf-8")
    return page.as_uri()


@needs_chromium
def test_broken_page_has_all_its_problems(browser, site, monkeypatch):
    monkeypatch.setattr(check_browser, "SHOWN", 100)
    found = list(page_problems(browser, plant(site, "\n".join(BROKEN)), None))
    assert [words for words in BROKEN.values() if not any(words in p for p in found)] == []


@needs_chromium
def test_clean_page_passes_and_defects_of_one_kind_are_counted(browser, site):
    assert list(page_problems(browser, (site / "page.html").as_uri(), None)) == []
    found = list(page_problems(browser, plant(site, "<p style='color: #888'>pale</p>" * 12), None))
    assert found[5] == "1280 px, light: and 7 more"


@needs_chromium
def test_exit_code_pages_and_pictures(site, capsys):
    (site / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=page.html">')
    (site / "_modules").mkdir()
    (site / "_modules/source.html").write_text(PAGE.replace('src="mathjax', 'src="../mathjax'))
    assert [p.name for p in site_pages(site)] == ["source.html", "page.html"]
    pictures = site / "pictures"
    assert main([str(site), "--screenshots", str(pictures), "--require"]) == 0
    assert capsys.readouterr().out == "2 pages seen in Chromium, 0 problems\n"
    assert len(list(pictures.rglob("page-*.jpg"))) == len(list(pictures.rglob("*.jpg"))) == 4
    plant(site, "<img src='none.png' alt='x'>")
    assert main([str(site)]) == 1
    assert "page.html: 390 px, dark: a picture is not there" in capsys.readouterr().out


def test_missing_browser_is_told_and_may_be_required(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    assert main([str(tmp_path)]) == 0
    assert "NOT CHECKED" in capsys.readouterr().out
    assert main([str(tmp_path), "--require"]) == 1
    with pytest.raises(ValueError, match="no pages"):
        problems(tmp_path, "no-such-browser")


def test_vendored_mathjax_is_that_of_version_3_2_2():
    found = sha256((MATHJAX / "tex-svg-full.js").read_bytes()).hexdigest()
    assert found == "a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6"
