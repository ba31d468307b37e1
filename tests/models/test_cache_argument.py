"""A model is handed its cache by the name that it has for it, in old Transformers and in new."""

from types import SimpleNamespace

import pytest

from zibaldone.models.cache_argument import cache_argument, cache_of


class Before:
    def forward(self, input_ids, past_key_values=None, use_cache=None):
        return SimpleNamespace(past_key_values=past_key_values)


class Since:
    def forward(self, input_ids, cache=None, use_cache=None):
        return SimpleNamespace(cache=cache)


@pytest.mark.parametrize("model", [Before(), Since()])
def test_a_cache_goes_in_and_comes_back(model):
    assert cache_of(model.forward([1], **cache_argument(model, "keys"), use_cache=True)) == "keys"


def test_a_pass_without_a_cache():
    assert cache_of(Since().forward([1])) is None
    assert cache_of(Before().forward([1])) is None
