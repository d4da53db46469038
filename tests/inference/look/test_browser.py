"""The page as a browser shows it."""

from dataclasses import replace

import numpy as np
import pytest

from maskline.inference.look.model import look_at, open_model, random_weights
from maskline.inference.look.page import page

TEXT, SECOND = "w5 w6 w7 w6", "w8 w9"


@pytest.fixture(name="looks", scope="module")
def _looks(models):
    opened = open_model(models / "pretraining")
    return look_at([opened, random_weights(opened)], TEXT, SECOND, 5)


@pytest.fixture(name="opened")
def _opened(browser, tmp_path):
    """Return a function that opens a page, and checks in the end that the browser had nothing to say against any."""

    def opened(html):
        (tmp_path / "look.html").write_text(html, encoding="utf-8")
        browser.get((tmp_path / "look.html").as_uri())
        return browser

    yield opened
    assert browser.get_log("browser") == []


def numbers(browser, model):
    """Return the numbers on the tokens of a model, and those in its table: what a token looks at, what looks at it."""
    script = f"""
    const panel = document.querySelector("#attention-{model}");
    const shown = (selector) => [...panel.querySelectorAll(selector)].map((element) => Number(element.textContent));
    return [shown(".token small"), shown("td:nth-child(2)"), shown("td:nth-child(3)")];
    """
    return browser.execute_script(script)


def choose(browser, name, value):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.select import Select

    Select(browser.find_element(By.ID, name)).select_by_value(value)


def test_the_numbers_are_those_of_the_head_that_is_chosen(opened, looks):
    browser = opened(page(looks, TEXT, SECOND))
    seen = []
    for layer, head in ((0, 0), (0, 1), (1, 0), (1, -1)):
        choose(browser, "layer", str(layer))
        choose(browser, "head", str(head))
        for model, look in enumerate(looks):
            heads = look.attention[layer]
            weights = heads.mean(0) if head < 0 else heads[head]
            tokens, row, column = numbers(browser, model)
            assert tokens == pytest.approx(weights[1], abs=0.0051)  # the second token is chosen at first
            assert row == pytest.approx(weights[1], abs=6e-5)
            assert column == pytest.approx(weights[:, 1], abs=6e-5)
            seen.append(tuple(row))
    assert len(set(seen)) == len(seen)


def test_a_small_map_chooses_its_head(opened, looks):
    from selenium.webdriver.common.by import By

    browser = opened(page(looks, TEXT, SECOND))
    maps = browser.find_elements(By.CSS_SELECTOR, "#attention-0 .heads button")
    assert [one.get_attribute("aria-label") for one in maps] == [
        f"Layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2)
    ]
    maps[3].click()
    assert numbers(browser, 0)[1] == pytest.approx(looks[0].attention[1, 1, 1], abs=6e-5)
    assert browser.find_element(By.ID, "layer").get_property("value") == "1"
    assert browser.find_element(By.ID, "head").get_property("value") == "1"


def test_keys_and_the_pointer_choose_a_token(opened, looks):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = opened(page(looks, TEXT, SECOND))
    tokens = browser.find_elements(By.CSS_SELECTOR, "#attention-0 .token")
    weights = [look.attention[0, 0] for look in looks]
    tokens[3].click()
    assert [numbers(browser, model)[1] for model in (0, 1)] == [pytest.approx(w[3], abs=6e-5) for w in weights]
    for key, token in ((Keys.ARROW_RIGHT, 4), (Keys.END, len(tokens) - 1), (Keys.ARROW_LEFT, len(tokens) - 2)):
        browser.switch_to.active_element.send_keys(key)
        assert browser.switch_to.active_element == tokens[token]
        assert numbers(browser, 0)[1] == pytest.approx(weights[0][token], abs=6e-5)
    ActionChains(browser).move_to_element(tokens[2]).perform()
    assert numbers(browser, 0)[1] == pytest.approx(weights[0][2], abs=6e-5)
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h2")).perform()
    assert numbers(browser, 0)[1] == pytest.approx(weights[0][len(tokens) - 2], abs=6e-5)
    choose(browser, "direction", "column")
    assert numbers(browser, 0)[0] == pytest.approx(weights[0][:, len(tokens) - 2], abs=0.0051)


def test_the_map_says_the_weight_under_the_pointer(opened, looks):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    browser = opened(page(looks, TEXT, SECOND))
    canvas = browser.find_element(By.CSS_SELECTOR, "#attention-0 canvas")
    count, side = len(looks[0].tokens), canvas.size["width"]
    assert canvas.size["height"] == pytest.approx(side, abs=1)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    place = [int((at + 0.5) / count * side - side / 2) for at in (2, 3)]  # of row and column, from the middle
    ActionChains(browser).move_to_element_with_offset(canvas, place[1], place[0]).perform()
    said = browser.find_element(By.CSS_SELECTOR, "#attention-0 .readout").text
    assert said == f"w6 looks at w7: {looks[0].attention[0, 0, 2, 3]:.4f}"
    pixels = (
        "return [...arguments[0].getContext('2d').getImageData(0, 0, arguments[0].width, arguments[0].height).data]"
    )
    shown = np.array(browser.execute_script(pixels, canvas)).reshape(count, count, 4)[..., 2]  # white to orange: blue
    weights = looks[0].attention[0, 0]
    assert np.array_equal(shown.ravel()[weights.ravel().argsort()], np.sort(shown.ravel())[::-1])
    assert len(set(shown.ravel())) > 9


def test_the_plot_has_a_dot_for_each_token_and_moves_them_with_the_layer(opened, looks):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = opened(page(looks, TEXT, SECOND))
    script = "return [...document.querySelectorAll('#context-0 .dot')].map((dot) => dot.style.transform)"
    depth = browser.find_element(By.ID, "depth")
    places = []
    for layer in (2, 1, 0):
        assert depth.get_property("value") == str(layer)
        places.append(tuple(browser.execute_script(script)))
        share = looks[0].variance[layer]
        said = browser.find_element(By.CSS_SELECTOR, "#context-0 .caption").text
        assert said.endswith(f"{100 * share[0]:.0f} % of the variance across, {100 * share[1]:.0f} % up")
        depth.send_keys(Keys.ARROW_LEFT)
    assert len(set(places)) == 3
    assert all(len(dots) == len(looks[0].tokens) for dots in places)


def test_of_a_text_from_right_to_left_keys_and_map_run_with_the_text(opened, looks):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = opened(page(looks, "كتاب", "b"))
    tokens = browser.find_elements(By.CSS_SELECTOR, "#attention-0 .token")
    tokens[2].click()
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert browser.switch_to.active_element == tokens[3]
    canvas = browser.find_element(By.CSS_SELECTOR, "#attention-0 canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    corner = canvas.size["width"] // 2 - 4
    ActionChains(browser).move_to_element_with_offset(canvas, -corner, -corner).perform()  # left above
    said = browser.find_element(By.CSS_SELECTOR, "#attention-0 .readout").text
    assert said == f"[CLS] looks at [SEP]: {looks[0].attention[0, 0, 0, -1]:.4f}"


@pytest.mark.parametrize("width", [320, 1200])
def test_odd_text_is_shown_as_text_and_fits_a_phone(opened, models, browser, width):
    from selenium.webdriver.common.by import By

    odd = ["[CLS]", "<script>alert(1)</script>", "$1 `${x}`", "كتاب", "中文", "a" * 90, "[SEP]"]
    looks = look_at([open_model(models / "pretraining")], "w5 w6 w7 w8 w9", None, 5)
    looks = [replace(look, tokens=odd) for look in looks]
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    opened(page(looks, "كتاب <script>alert(1)</script>"))
    shown = "return [...document.querySelectorAll('#attention-0 .token bdi')].map((token) => token.textContent)"
    assert browser.execute_script(shown) == odd
    first, inside = (
        browser.find_element(By.CSS_SELECTOR, f"#attention-0 {name}").rect for name in (".token", ".tokens")
    )
    assert first["x"] + first["width"] == pytest.approx(inside["x"] + inside["width"], abs=1)  # it begins on the right
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
