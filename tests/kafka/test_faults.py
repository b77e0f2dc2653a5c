"""What is counted stays exact though jobs and brokers die: the short form of ``make faults``."""

from __future__ import annotations

from campaign import Campaign


def test_each_number_is_counted_once_though_job_and_leader_die_and_a_zombie_wakes_up(tmp_path):
    with Campaign(tmp_path, seed=1, say=print) as campaign:
        found = campaign.run(kills=1, zombies=1, leaders=1, stalls=0)
    assert sum(n for what, n in campaign.done.items() if what.startswith("job killed")) == 1
    assert campaign.done["zombie ended with an error"] == 1
    assert campaign.done["leader killed"] == 1
    assert found.numbers == campaign.numbers.total
    assert found.windows > 12
