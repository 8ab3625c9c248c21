"""The pictures to play with: their data are what the package computes, and they move."""

import importlib
import runpy
from types import SimpleNamespace

import pytest
from browser.devtools import TWO_FRAMES, Browser, find_chromium
from check_browser import event_problems
from conftest import ROOT

BOOK = ROOT / "book"
CHROMIUM = find_chromium()
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
PLACES = {
    "emerging": '<figure id="fig-emerging"><img alt=""></figure>',
    "score_field": '<figure id="fig-score-field"><img alt=""></figure>',
    "ledger": '<div id="ledger-explorer" data-folder="_static/play"></div>',
}
# Move the last control of a kind, as a key would, and tell whether picture and words changed.
MOVE = """(async () => {
  const seen = () => [document.querySelector(".play svg").innerHTML,
    document.querySelector(".play-numbers").textContent];
  const control = [...document.querySelectorAll("%s")].at(-1);
  const before = seen();
  if (control.type === "range") control.stepUp(); else control.selectedIndex += 1;
  control.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => setTimeout(done, 50));
  return seen().map((part, k) => part !== before[k] && part.length > 20);
})()"""


def script(name):
    return runpy.run_path(str(BOOK / "figures" / f"{name}.py"))


def test_slider_shows_what_the_package_estimates():
    module = script("emerging")
    stored, n = module["load"](), 100
    for method, entries in stored["laws"]["ar1"]["methods"].items():
        entry = entries[stored["sizes"].index(n)]
        distance, loadings = module["estimate"]("ar1", n, method)
        assert entry["distance"] == pytest.approx(distance, abs=2e-3), method
        assert entry["loadings"] == pytest.approx(1000 * loadings.T.ravel(), abs=3), method


def test_explorer_shows_what_the_package_estimates():
    module = script("score_field")
    stored = module["load"]()
    entry = stored["planes"]["mixture"]["fields"][2][1]
    again = module["entry"](module["PLANES"]["mixture"], 1e-2, 1.0)
    assert entry["error"] == pytest.approx(again["error"], rel=1e-2)
    assert entry["arrows"] == pytest.approx(again["arrows"], abs=2)


@needs_chromium
@pytest.mark.parametrize("name", PLACES)
def test_controls_move_the_picture(name, tmp_path, monkeypatch):
    play = tmp_path / "_static" / "play"
    play.mkdir(parents=True)
    for path in (BOOK / "_static" / "play").iterdir():
        (play / path.name).symlink_to(path)
    scripts = ["axes", f"{name}.data", name]
    if name == "ledger":
        scripts.remove("ledger.data")  # written at every build, a script for each table
        monkeypatch.syspath_prepend(str(BOOK / "_ext"))
        app = SimpleNamespace(srcdir=ROOT, outdir=tmp_path, builder=SimpleNamespace(format="html"))
        importlib.import_module("play").write_entries(app, None)
    loaded = "".join(f"<script src='_static/play/{script}.js'></script>" for script in scripts)
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{PLACES[name]}{loaded}</body>")
    with Browser(CHROMIUM) as browser:
        browser.resize(390, 844, mobile=True)
        browser.open(page.as_uri() + ("#table2-ar1-r-3-SIR" if name == "ledger" else ""))
        browser.run(f"new Promise((done) => setTimeout(done, 300)).then(() => {TWO_FRAMES})")
        kinds = ["select"] if name == "ledger" else ["input[type=range]", "select"]
        if name == "ledger":
            chosen = browser.run("document.querySelector('#ledger-explorer').dataset.entry")
            assert chosen == "table2-ar1-r-3-SIR"
        for kind in kinds:
            assert browser.run(MOVE % f".play-controls {kind}") == [True, True], kind
        assert list(event_problems(browser.events)) == []


# Folds and choices.


FOLDS = """<!DOCTYPE html><meta charset=utf-8>
<form class=filters data-rows="details.row" data-unit=rows hidden><select name=kind>
<option value="">all</option><option>lemma</option></select>
<select name=section><option value="">all</option><option>two</option></select>
<output></output></form>
<section id=page><section id=one><details class=row data-kind=lemma id=a><summary>A</summary>
<p id=inside>x</p></details>
<details class=row data-kind=remark id=b><summary>B</summary>y</details></section>
<section id=two>
<details class="row kind-lemma" id=c><summary>C</summary>z</details></section></section>
<script src=folds.js></script><script src=play/filter.js></script>"""
SHOWN = "[...document.querySelectorAll('details')].filter((d) => d.checkVisibility())"
CHOOSE = """document.querySelectorAll('select').forEach((one, k) => { one.selectedIndex = %s[k];
one.dispatchEvent(new Event('input', { bubbles: true })) })"""


@needs_chromium
def test_choices_folds_and_addresses_work_together(tmp_path):
    for name in ("folds.js", "play"):
        (tmp_path / name).symlink_to(BOOK / "_static" / name)
    page = tmp_path / "page.html"
    page.write_text(FOLDS)
    with Browser(CHROMIUM) as browser:

        def shown(condition="true"):
            return browser.run(f"{SHOWN}.filter((d) => {condition}).map((d) => d.id).join()")

        def opened():
            browser.run(TWO_FRAMES)
            return shown("d.open")

        browser.open(page.as_uri() + "#inside")
        assert opened() == "a", "an address inside a fold opens it"
        browser.run("location.hash = 'c'")
        assert opened() == "a,c"
        for indices, rows in {"[1, 0]": "a,c", "[1, 1]": "c", "[0, 0]": "a,b,c"}.items():
            browser.run(CHOOSE % indices)
            assert shown() == rows
            count = browser.run("document.querySelector('output').textContent")
            assert count == f"{len(rows.split(','))} of 3 rows shown"
        browser.run(CHOOSE % "[1, 1]")
        assert browser.run("document.querySelector('#one').className") == "empty"
        browser.run(CHOOSE % "[0, 0]")
        for everything in ("a,b,c", ""):
            browser.run("document.querySelector('button').click()")
            assert opened() == everything
        browser.run("dispatchEvent(new Event('beforeprint'))")
        assert opened() == "a,b,c", "paper shows all"
        browser.run("dispatchEvent(new Event('afterprint'))")
        assert opened() == ""
        assert list(event_problems(browser.events)) == []
