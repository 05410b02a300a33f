from tests.store.postgres.killed_server import kill_server


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_and_saving_goes_on_by_itself() -> None:
    report = kill_server(rounds=1)
    assert report.retried > 0
    assert report.longest_silence < 10
