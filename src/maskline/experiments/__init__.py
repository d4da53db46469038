"""Running one configuration several times: copies of the project, and what came out of them as experiments of DVC."""
