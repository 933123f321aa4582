"""What is kept of campaigns is a line each, and is read as it was written."""

from pathlib import Path

from anchorhold.sim import ledger
from anchorhold.sim.campaign import Campaign
from anchorhold.sim.mode import Mode


def test_lines_are_appended_and_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "worlds.jsonl"
    assert ledger.read(path) == []
    for mode in (Mode.PREPARED, Mode.ADR):
        came_to = Campaign(mode, worlds=10, seconds=2.0)
        came_to.stated["R15"] = 3
        ledger.append(path, [ledger.entry(came_to, 7, "abc")])
    read = ledger.read(path)
    assert [(one.mode, one.worlds, one.worlds_per_second) for one in read] == [
        ("prepared", 10, 5.0),
        ("adr", 10, 5.0),
    ]
    assert (read[0].commit, read[0].first_seed, dict(read[0].stated)) == ("abc", 7, {"R15": 3})


def test_a_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert ledger.commit_of(tmp_path) == "unknown"


def test_the_next_campaign_begins_behind_the_last(tmp_path: Path) -> None:
    path = tmp_path / "worlds.jsonl"
    assert ledger.next_seed(path) == 0
    ledger.append(path, [ledger.entry(Campaign(Mode.DIRECT, worlds=10), 7, "abc")])
    assert ledger.next_seed(path) == 17
