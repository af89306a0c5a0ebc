"""The table of APIs: one row for each, sorted, with versions that their schemas know."""

from onemq.protocols.kafka.apis import APIS


def test_each_api_is_there_once_sorted_by_key() -> None:
    keys = [api.key for api in APIS]
    assert keys == sorted(set(keys))


def test_requests_and_responses_belong_together() -> None:
    for api in APIS:
        assert api.request.__module__ == api.response.__module__
        assert api.response.__name__ == f"{api.name}Response"
        assert (api.response.api_key, api.response.flexible_since) == (api.key, api.request.flexible_since)


def test_no_version_is_promised_that_no_schema_knows() -> None:
    for api in APIS:
        assert api.first in api.request.versions
        assert api.last in api.request.versions
        assert api.last in api.response.versions
        assert api.shown_first <= api.first
