"""The bench of hanging models: its rows, made with few calls."""

from zibaldone.bench.hanging import measure


def test_every_call_is_timed_beside_a_recall_that_hangs_and_alone(tmp_path):
    """A row per call and user; nobody waits for the model, and forgetting purges the files."""
    rows = measure("messages", "embedder", tmp_path, 2, lambda *_: None)
    assert [(row.call, row.user) for row in rows] == [
        (call, user) for user in ("same", "other") for call in ("add", "recall", "forget")
    ]
    assert all(row.purged for row in rows)
    assert all(0 < row.alone_ms < 10_000 and 0 < row.hanging_ms < 10_000 for row in rows)
    assert rows[0].ratio == rows[0].hanging_ms / rows[0].alone_ms
