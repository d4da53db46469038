"""The page for people, in a real browser."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.serving.conftest import SECONDS, models, running


def ask(browser, section, **texts):
    """Fill in the fields of a section by their labels, press its button, and return what is answered."""
    form = browser.find_element(By.CSS_SELECTOR, f"#{section} form")
    for field in form.find_elements(By.CSS_SELECTOR, "input, textarea"):
        if field.accessible_name in texts:
            field.clear()
            field.send_keys(texts.pop(field.accessible_name))
    assert not texts, "no such label"
    form.find_element(By.TAG_NAME, "button").click()
    place = browser.find_element(By.CSS_SELECTOR, f"#{section} .answer")
    fault = browser.find_element(By.CSS_SELECTOR, f"#{section} .fault")
    WebDriverWait(browser, SECONDS, 0.02).until(lambda _: place.text or fault.text)
    return place.text or fault.text


def open_page(browser, address, model):
    browser.get(str(address))
    title = browser.find_element(By.ID, "model")
    WebDriverWait(browser, SECONDS, 0.02).until(lambda _: title.text == model)


def test_vectors_fills_and_a_search(browser, pretrained):
    open_page(browser, pretrained.base_url, "pretrained")
    shown = ask(browser, "embed", **{"Texts, one in each line": "the river\nthe city"})
    assert "vectors of 16 numbers, the first 5 of each" in shown
    assert "How alike: cosines" in shown
    assert "1.000" in shown
    shown = ask(browser, "ask", **{"A text with [MASK] where a word is missing": "the [MASK] of the city"})
    assert "In place of [MASK]" in shown
    shown = ask(browser, "search", **{"Words or a question": "painter"})
    assert "painter" in shown
    assert "(0.0" in shown


def test_a_prediction_and_what_is_absent(browser, sentiment):
    open_page(browser, sentiment.base_url, "sentiment")
    shown = ask(browser, "ask", text="a good garden <img src=x onerror=alert(1)>")
    assert "label" in shown
    assert "positive" in shown
    search = browser.find_element(By.ID, "search")
    assert "there is no index: start the server with --index" in search.text
    assert not search.find_element(By.TAG_NAME, "form").is_displayed()


def test_what_is_refused_is_shown(browser, sentiment):
    open_page(browser, sentiment.base_url, "sentiment")
    shown = ask(browser, "embed", **{"Texts, one in each line": "the river " * 40})
    assert "texts[0] has 82 tokens, and the model reads at most 32" in shown


def test_a_key_is_asked_for(browser, tiny_project):
    with running(models(tiny_project) / "sentiment", key="open sesame") as client:
        browser.get(str(client.base_url))
        key = browser.find_element(By.ID, "key")
        WebDriverWait(browser, SECONDS, 0.02).until(lambda _: key.is_displayed())
        for typed in ("open", "open sesame"):
            key.clear()
            key.send_keys(typed)
            browser.find_element(By.CSS_SELECTOR, "#key-form button").click()
            fault = browser.find_element(By.ID, "key-fault")
            if typed == "open":
                WebDriverWait(browser, SECONDS, 0.02).until(lambda _: fault.text)  # noqa: B023
        WebDriverWait(browser, SECONDS, 0.02).until(lambda _: not key.is_displayed())
        assert "positive" in ask(browser, "ask", text="a good garden")


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_complained_of(browser, pretrained):
    browser.get_log("browser")
    for path in ("/", "/docs"):
        browser.get(str(pretrained.base_url.join(path)))
        names = browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert names
        assert not [name for name in names if not name.startswith(str(pretrained.base_url))]
    assert not browser.get_log("browser")


LUMINANCE = """
const [element] = arguments;
const number = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (colour) => {
  const [r, g, b] = number(colour).map((one) => one / 255).map((one) =>
    one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const style = getComputedStyle(element);
let behind = element;
while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
return [light(style.color), light(getComputedStyle(behind || document.body).backgroundColor)];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark_and_by_name(browser, pretrained, scheme):
    feature = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
    open_page(browser, pretrained.base_url, "pretrained")
    ask(browser, "embed", **{"Texts, one in each line": "the river"})
    seen = 0
    everything = "h1, h1 span, h2, p, a, label, input, textarea, select, button, caption, th, td"
    for element in browser.find_elements(By.CSS_SELECTOR, everything):
        if element.is_displayed():
            ink, paper = browser.execute_script(LUMINANCE, element)
            assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5  # WCAG 2.2, 1.4.3
            assert (paper > ink) == (scheme == "light") or element.tag_name == "button"
            if element.tag_name in {"input", "textarea", "select", "button"}:
                assert element.accessible_name
                seen += 1
    assert seen >= 6
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    lives = browser.find_elements(By.CSS_SELECTOR, ".answer")
    assert {live.get_attribute("aria-live") for live in lives} == {"polite"}
