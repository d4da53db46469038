"""What the tests of pages share."""

import shutil

import pytest

from tests.page import toy


@pytest.fixture(name="made")
def _made():
    """Return a function that leaves a run in a folder, and gives it as the source of a page."""
    return toy.made


@pytest.fixture(name="browser", scope="session")
def _browser():
    """Return a headless Chromium with a window for computers."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("there is no chromium with its chromedriver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()
