"""Addresses come from the environment of the job that publishes, and from nowhere else."""

from types import SimpleNamespace

import pytest
from site_address import set_addresses


@pytest.fixture
def config():
    return SimpleNamespace(html_baseurl="", html_theme_options={"search_bar_text": "Search"})


def test_without_addresses_whatever_needs_one_is_left_out(config, monkeypatch):
    monkeypatch.delenv("SITE_URL", raising=False)
    monkeypatch.delenv("REPOSITORY_URL", raising=False)
    set_addresses(None, config)
    assert config.html_baseurl == ""
    assert config.html_theme_options == {"search_bar_text": "Search"}


def test_addresses_are_taken_from_the_environment(config, monkeypatch):
    monkeypatch.setenv("SITE_URL", "https://book.example/")
    monkeypatch.setenv("REPOSITORY_URL", "https://github.com/some/repository")
    set_addresses(None, config)
    assert config.html_baseurl == "https://book.example/"
    assert config.html_theme_options["repository_url"] == "https://github.com/some/repository"
    assert config.html_theme_options["use_issues_button"] is True
    assert config.html_theme_options["search_bar_text"] == "Search"
