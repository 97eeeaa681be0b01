"""One answer for all processes of a supervisor."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from howdah.supervise import health
from howdah.supervise.endpoint import Answers, Endpoint
from howdah.supervise.health import Answer, Asked


def get(port: int, path: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def post(port: int, path: str) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("POST", path)
        response = connection.getresponse()
        assert response.headers["Allow"] == "GET, HEAD"
        return response.status, json.load(response)


def saying(status: int, **body: Any) -> Answers:
    def answers(path: str) -> tuple[int, Mapping[str, Any]] | None:
        return (status, body) if path in health.PATHS else None

    return answers


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [([200, 200], 200), ([200, 503], 503), ([200, None], 503), ([], 503)],
)
def test_all_that_run_must_say_that_they_are_well(statuses: list[int | None], expected: int) -> None:
    answers = [Answer(Asked(n, pid=n, port=1), status, {}) for n, status in enumerate(statuses)]
    assert health.together(answers)[0] == expected


def test_one_that_is_just_being_restarted_does_not_count_unless_none_runs() -> None:
    gone, well = Answer(Asked(1, None, None), None, ""), Answer(Asked(2, 5, 5), 200, {})
    assert health.together([gone, well])[0] == 200
    assert health.together([gone, gone])[0] == 503


def test_it_asks_each_and_tells_what_they_said() -> None:
    silent = health.free_port()
    with Endpoint(saying(200, phase="working")) as one, Endpoint(saying(503, phase="starting")) as other:
        asked = [Asked(1, 11, one.port), Asked(2, 12, other.port), Asked(3, 13, silent)]
        with Endpoint(lambda path: health.answer(path, asked)) as all_of_them:
            status, body = get(all_of_them.port, "/readyz?verbose")
            assert get(all_of_them.port, "/else")[0] == 404
            assert post(all_of_them.port, "/readyz") == (405, {"status": "method not allowed"})
    assert status == 503
    assert [(each["pid"], each["status"]) for each in body["processes"]] == [(11, 200), (12, 503), (13, None)]
    assert body["processes"][0]["said"] == {"phase": "working"}
    assert "refused" in body["processes"][2]["said"]
