"""The pages as a browser shows them."""

import os
import threading
import time
from pathlib import Path

import pytest

from maskline.core.storage import append_csv, write_csv, write_json, write_text
from maskline.page.comparison import comparison_page
from maskline.page.document import render
from maskline.page.live import Watch
from maskline.page.run import run_page
from maskline.page.serve import Server
from maskline.reporting.comparison import compare
from maskline.reporting.runs import read_folder
from tests.page.toy import HOSTILE, made

AXE = Path(os.environ.get("AXE", "node_modules/axe-core/axe.min.js"))
"""axe-core, where somebody has it: `npm pack axe-core`."""
LOSS = 4.523456789012345


@pytest.fixture(name="pages", scope="module")
def _pages(tmp_path_factory):
    """The page of a run, and that of three configurations with three seeds."""
    folder = tmp_path_factory.mktemp("pages")
    run = made(folder / "run", loss=LOSS, seed=1, activation="long" * 30)
    write_text(folder / "run.html", render(run_page(run)))
    runs = []
    for name, layers in (("main", 2), ("deep", 4), ("قطة 中文 $5", 6)):
        for seed in range(3):
            place = folder / f"{layers}-{seed}"
            source = made(place, seed=seed, loss=4.5 + (seed + 1) * layers / 10, layers=layers)
            runs.append(read_folder(place, source.settings, f"{name}-seed{seed}"))
    write_text(folder / "comparison.html", render(comparison_page(compare(runs))))
    return folder


@pytest.fixture(name="opened")
def _opened(browser):
    """Return a function that opens a page; in the end the browser must have had nothing to say."""

    def opened(address):
        browser.get(address if isinstance(address, str) else address.as_uri())
        wait(lambda: browser.execute_script("return document.body.hasAttribute('data-ready')"))
        return browser

    yield opened
    assert browser.get_log("browser") == []


def wait(happened, seconds=20):
    """Return what happens within some seconds."""
    end = time.monotonic() + seconds
    while not (found := happened()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


def column(browser, number):
    rows = "return [...document.querySelector('table.sortable').tBodies[0].rows]"
    return browser.execute_script(f"{rows}.map(row => row.cells[{number}].textContent)")


@pytest.mark.parametrize("name", ["run", "comparison"])
def test_every_figure_is_drawn(opened, pages, name):
    browser = opened(pages / f"{name}.html")
    counts = "return ['.chart', '.chart svg', '.chart svg path'].map(s => document.querySelectorAll(s).length)"
    charts, drawn, paths = browser.execute_script(counts)
    assert charts == drawn == {"run": 10, "comparison": 9}[name]
    assert paths > 10 * charts


def test_hover_gives_the_number_in_the_file(opened, pages):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    browser = opened(pages / "run.html")
    points = "#pretraining-mlm-loss .mark-symbol path"
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, points))
    chart = browser.find_element(By.CSS_SELECTOR, "#pretraining-mlm-loss")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", chart)
    last = browser.execute_script(
        "const p = [...document.querySelectorAll(arguments[0])].filter(p => p.ariaLabel?.includes('300'));"
        "const b = p.at(-1).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2];",
        points,
    )
    ActionChains(browser).move_by_offset(*map(int, last)).perform()
    shown = wait(lambda: browser.find_element(By.ID, "vg-tooltip-element").text)
    assert str(LOSS) in shown
    assert "validation" in shown


def test_curves_stand_against_what_is_chosen_and_zoom_by_the_keyboard(opened, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = opened(pages / "run.html")
    text = "return document.querySelector('#pretraining-mlm-loss svg').textContent"
    assert "step (optimizer updates)" in browser.execute_script(text)
    choice = browser.find_element(By.CSS_SELECTOR, "#pretraining input[type=radio]")
    choice.send_keys(Keys.ARROW_RIGHT)
    wait(lambda: "tokens read" in browser.execute_script(text))
    choice = browser.find_element(By.CSS_SELECTOR, "#pretraining input[value=tokens]")
    choice.send_keys(Keys.ARROW_RIGHT)
    wait(lambda: "seconds of training" in browser.execute_script(text))
    domain = (
        "return [...document.querySelectorAll('#pretraining-mlm-loss .role-axis-label text')].map(t => t.textContent)"
    )
    before = browser.execute_script(domain)
    browser.find_element(By.CSS_SELECTOR, "#pretraining button[value=in]").send_keys(Keys.ENTER)
    wait(lambda: browser.execute_script(domain) != before)
    browser.find_element(By.CSS_SELECTOR, "#pretraining button[value=all]").send_keys(Keys.ENTER)
    wait(lambda: browser.execute_script(domain) == before)
    browser.find_element(By.CSS_SELECTOR, "#pretraining input[value=log-y]").send_keys(Keys.SPACE)
    wait(lambda: browser.execute_script(domain) != before)


def test_a_table_sorts_by_a_head_that_is_a_button(opened, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = opened(pages / "comparison.html")
    heads = browser.find_elements(By.CSS_SELECTOR, "table.sortable thead th")
    assert column(browser, 0) == ["main", "deep", "قطة 中文 $5"]
    loss = next(number for number, head in enumerate(heads) if head.text.startswith("MLM loss"))
    for direction, first in (("ascending", "main"), ("descending", "قطة 中文 $5")):
        heads[loss].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        assert heads[loss].get_attribute("aria-sort") == direction
        assert column(browser, 0)[0] == first
    heads[0].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert column(browser, 0) == ["deep", "main", "قطة 中文 $5"]
    assert [head.get_attribute("aria-sort") for head in heads].count("ascending") == 1


def test_names_that_could_do_harm_are_shown_as_they_are(opened, pages):
    from selenium.webdriver.common.by import By

    browser = opened(pages / "run.html")
    labels = browser.execute_script("return document.querySelector('#task-0-0 svg').textContent")
    assert all(label in labels for label in (HOSTILE[0], HOSTILE[2], HOSTILE[3]))
    text = browser.find_element(By.ID, "samples").text
    assert "<script>alert(2)</script> قطة [MASK] 中文 $5" in text


def test_text_from_right_to_left_stands_to_the_right(opened, pages):
    browser = opened(pages / "run.html")
    gaps = browser.execute_script(
        "const quote = [...document.querySelectorAll('#samples blockquote')].at(-1), range = document.createRange();"
        "range.selectNodeContents(quote.querySelector('bdi'));"
        "const [text, room] = [range, quote].map(one => one.getBoundingClientRect());"
        "return [text.left - room.left, room.right - text.right];"
    )
    assert gaps[0] > 100
    assert gaps[1] < 5


def test_no_figure_is_wider_than_a_phone(opened, pages, browser):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    try:
        for name in ("run", "comparison"):
            opened(pages / f"{name}.html")
            assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.skipif(not AXE.is_file(), reason="there is no axe-core: AXE=…/axe.min.js names it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["run", "comparison"])
def test_axe_finds_nothing(opened, pages, browser, name, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    opened(pages / f"{name}.html")
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(r => arguments[0](r.violations))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert [(fault["id"], fault["nodes"][0]["html"][:200], len(fault["nodes"])) for fault in found] == []


def test_without_scripts_the_pictures_of_the_run_stand_in(opened, pages, browser):
    figures = pages / "run" / "reports" / "figures"
    write_text(figures / "pretraining.svg", '<?xml version="1.0"?><svg id="drawn" width="9" height="9"></svg>')
    write_text(pages / "still.html", render(run_page(made(pages / "run", loss=LOSS))))
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get((pages / "still.html").as_uri())
        assert browser.find_element("id", "drawn").is_displayed()
        assert not browser.find_element("id", "pretraining-mlm-loss").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_live_page_follows_a_run_and_keeps_what_was_chosen(opened, tmp_path):
    from selenium.webdriver.common.by import By

    columns, folder = ("step", "tokens", "mlm_loss", "nsp_loss", "loss"), tmp_path / ".runs" / "f"
    rows = [{"step": i, "tokens": 10 * i, "mlm_loss": 7 - i / 9, "loss": 7} for i in range(1, 9)]
    write_text(tmp_path / "params.yaml", "seed: 0\n")
    write_csv(folder / "train.csv", rows, columns, missing="nan")
    write_csv(folder / "validation.csv", rows[3:4], columns, missing="nan")
    watch = Watch(tmp_path, lambda _: {"params.yaml": {"seed": 0, "tasks": {}}})
    times = iter(range(0, 100000, 100))
    with Server(watch, 0, lambda: next(times)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            browser = opened(f"http://127.0.0.1:{server.server_port}/")
            version = wait(lambda: browser.execute_script("return document.body.dataset.version"))
            browser.find_element(By.CSS_SELECTOR, "#live-0 input[value=tokens]").click()
            text = "return document.querySelector('#live-0-pretraining-mlm-loss svg').textContent"
            wait(lambda: "tokens read" in browser.execute_script(text))
            assert browser.find_element(By.ID, "live-0-title").text == "Live: before its first state"
            write_json(folder / "identity.json", {"stage": "pretrain", "params": {"pretrain": {"steps": 20}}})
            append_csv(
                folder / "train.csv", {"step": 9, "tokens": 90, "mlm_loss": 1.5, "loss": 7}, columns, missing="nan"
            )
            wait(lambda: browser.execute_script("return document.body.dataset.version") != version)
            assert "9 of 20" in browser.find_element(By.ID, "now").text
            assert browser.find_element(By.ID, "live-0-title").text == "Live: pretrain"
            assert browser.find_element(By.CSS_SELECTOR, "nav a[href='#live-0']").text == "Live: pretrain"
            assert "tokens read" in browser.execute_script(text)
            points = "#live-0-pretraining-mlm-loss path[aria-label*='value: 1.5']"
            wait(lambda: browser.find_elements(By.CSS_SELECTOR, points))
            made(tmp_path, loss=4.321)
            wait(lambda: "4.321" in browser.find_element(By.ID, "lead").text)
        finally:
            browser.get("about:blank")
            server.shutdown()
            thread.join()
