"""Addresses of the published site, from the environment of the job that publishes it.

SITE_URL        where the site will live; without it, whatever needs an absolute address is left out
REPOSITORY_URL  where the sources live; without it, the links "repository" and "issue" are left out
"""

import os


def set_addresses(app, config):
    config.html_baseurl = os.environ.get("SITE_URL", "")
    repository = os.environ.get("REPOSITORY_URL", "")
    if repository:
        config.html_theme_options = {
            **config.html_theme_options,
            "repository_url": repository,
            "repository_branch": "main",
            "path_to_docs": "",
            "use_repository_button": True,
            "use_issues_button": True,
        }


def setup(app):
    app.connect("config-inited", set_addresses, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
