"""A model is handed its cache by the name that it has for it, in old Transformers and in new."""

from zibaldone.models.cache_argument import cache_argument


class Before:
    def forward(self, input_ids, past_key_values=None, use_cache=None): ...


class Since:
    def forward(self, input_ids, cache=None, use_cache=None): ...


def test_a_cache_goes_in_by_its_name():
    """`past_key_values` up to 5.23, `cache` from 5.24 on."""
    assert cache_argument(Before(), "keys") == {"past_key_values": "keys"}
    assert cache_argument(Since(), "keys") == {"cache": "keys"}
