"""How often a sentence wants something done: one cron text and a zone, or a question with what can be said."""

import pytest

from agents.router.recurrence import read_schedule
from workflows.schedules.cron import parse_cron


@pytest.mark.parametrize(
    "text, cron, zone",
    [
        ("every weekday at 7:30 in Berlin", "30 7 * * 1-5", "Europe/Berlin"),
        ("twice a day", "0 0,12 * * *", "UTC"),
        ("first Monday of the month", "0 2 * * 1#1", "UTC"),
        ("on the second and last Friday of each month at 10", "0 10 * * 5#2,5L", "UTC"),
        ("every 15 minutes during office hours", "*/15 9-16 * * 1-5", "UTC"),
        ("at midnight UTC", "0 0 * * *", "UTC"),
        ("every other hour", "0 */2 * * *", "UTC"),
        ("on the 1st and 15th at noon", "0 12 1,15 * *", "UTC"),
        ("nightly", "0 2 * * *", "UTC"),
        ("weekly", "0 0 * * 0", "UTC"),
        ("every Monday and Thursday at 14:00 New York time", "0 14 * * 1,4", "America/New_York"),
        ("Mondays at 6pm", "0 18 * * 1", "UTC"),
        ("every weekday at 7 and 19", "0 7,19 * * 1-5", "UTC"),
        ("every hour from 9 to 5 on weekdays in Tokyo", "0 9-17 * * 1-5", "Asia/Tokyo"),
        ("last Friday of the month at 17:00", "0 17 * * 5L", "UTC"),
        ("last working day of the month", "0 2 LW * *", "UTC"),
        ("every quarter", "0 0 1 1,4,7,10 *", "UTC"),
        ("4 times a day", "0 0,6,12,18 * * *", "UTC"),
        ("every Tuesday at half past six in the evening", "30 18 * * 2", "UTC"),
        ("every day except weekends at 8", "0 8 * * 1-5", "UTC"),
        ("every day but not on Sundays at 8", "0 8 * * 1-6", "UTC"),
        ("every year on March 3 at 10:00", "0 10 3 3 *", "UTC"),
        ("weekdays at 0700", "0 7 * * 1-5", "UTC"),
        ("Saturday to Monday at 22:00", "0 22 * * 0,1,6", "UTC"),
        ("every 12 hours starting at 6", "0 6,18 * * *", "UTC"),
        ("every hour at :20", "20 * * * *", "UTC"),
        ("daily at 6 EST", "0 6 * * *", "America/New_York"),
        ("daily at 6 in São Paulo", "0 6 * * *", "America/Sao_Paulo"),
        ("with cron 0 4 * * 1-5", "0 4 * * 1-5", "UTC"),
        ("jeden Werktag um 7:30 in Berlin", "30 7 * * 1-5", "Europe/Berlin"),
        ("tous les lundis à 8h30", "30 8 * * 1", "UTC"),
        ("tous les jours à 8h à Paris", "0 8 * * *", "Europe/Paris"),
        ("third Thursday each month at 09:00 in Auckland", "0 9 * * 4#3", "Pacific/Auckland"),
        ("every year on the last Sunday in October at 1:30 Berlin", "30 1 * 10 0L", "Europe/Berlin"),
        ("every tenth minute", "*/10 * * * *", "UTC"),
        ("every 3rd day at 6", "0 6 */3 * *", "UTC"),
        ("every 15th", "0 2 15 * *", "UTC"),
        ("every full hour from 6 to 22", "0 6-22 * * *", "UTC"),
        ("each Friday evening", "0 18 * * 5", "UTC"),
        ("Friday evenings at 8", "0 20 * * 5", "UTC"),
        ("on weekday mornings", "0 8 * * 1-5", "UTC"),
        ("every evening at 7", "0 19 * * *", "UTC"),
        ("every night at 10", "0 22 * * *", "UTC"),
        ("every night at 2:30am in New York", "30 2 * * *", "America/New_York"),
        ("on Mondays at 14:00 Tokyo", "0 14 * * 1", "Asia/Tokyo"),
        ("for the sprint report, every day at 8", "0 8 * * *", "UTC"),
        ("from Monday to Friday at 8", "0 8 * * 1-5", "UTC"),
        ("cada día a las 6:00 en Madrid", "0 6 * * *", "Europe/Madrid"),
    ],
)
def test_words_about_time_become_a_cron_text_and_a_zone(text: str, cron: str, zone: str) -> None:
    read = read_schedule(f"scan it {text}")
    assert read is not None
    assert (read.cron, read.timezone, read.problem) == (cron, zone, "")
    parse_cron(read.cron)


@pytest.mark.parametrize(
    "text, says, option",
    [
        ("every 45 minutes", "cannot say every 45 minutes", "every 30 minutes"),
        ("every 90 minutes", "cannot say every 90 minutes", "every 2 hours"),
        ("every 5 hours", "cannot say every 5 hours", "every 6 hours"),
        ("every two weeks", "does not count weeks", "every week"),
        ("every 20 days", "cannot say every 20 days", "every month"),
        ("every leap day at midnight", 'No calendar here knows "every leap day"', "every day"),
        ("on New Year's Eve at 23:59", "No calendar here knows", "every day"),
        ("every full moon", "No calendar here knows", "every Monday"),
        ("at the start of each sprint", "No calendar here knows", "every Monday"),
        ("every year on my birthday", "No calendar here knows", "every day"),
        ("daily in winter", "No calendar here knows", "every day"),
        ("on the last Sunday in October at 1:30", "names one moment", "every day"),
        ("every time the build fails at 5pm", "Nothing here watches", "every hour"),
        ("after each deployment", "Nothing here watches", "every hour"),
        ("every 5 months", "cannot say every 5 months", "every quarter"),
        ("at 7:30 and 18:00 every day", "cannot say 7:30 and 18:00", "7:30 and 18:30"),
        ("5 times a day", "cannot say 5 times a day", None),
        ("every 30 seconds", "as fine as a minute", "every minute"),
        ("on the first working day of the month", "not the first", "the 1st of the month"),
        ("tomorrow at 9", "names one moment", "every day"),
        ("on every push", "watches a repository", "every hour"),
        ("every day at 25:00", "25:00 is no time of day", None),
        ("on Mondays and on the 13th of every month", "on either of them", None),
        ("daily at 6 Europe/Berln", "There is no time zone", None),
        ("with cron 61 * * * *", "no cron text", None),
        ("with cron 0 0 31 2 *", "no cron text", None),
    ],
)
def test_what_a_cron_text_cannot_say_is_asked_back(text: str, says: str, option: str | None) -> None:
    read = read_schedule(f"scan it {text}")
    assert read is not None
    assert says in read.problem
    assert option is None or option in read.options
    for offered in read.options:
        again = read_schedule(f"scan it {offered}")
        assert offered == "now" or (again is not None and again.problem == ""), offered


@pytest.mark.parametrize(
    "text",
    ["scan it", "scan every file of it", "report on the first issue", "get two approvals", "within 10 minutes",
     "scan it now", "fix each finding", "run the nightmare tests", "last 5 commits"],
)  # fmt: skip
def test_other_words_are_no_schedule(text: str) -> None:
    assert read_schedule(text) is None


@pytest.mark.parametrize("text", ["on weekdays at 9am, on weekends at 11am", "every Monday at 9 and Friday at 17:00"])
def test_times_of_their_own_for_some_days_are_two_schedules(text: str) -> None:
    read = read_schedule(f"scan it {text}")
    assert read is not None
    assert "the same times on all its days" in read.problem
    assert not read.cron


@pytest.mark.parametrize(
    "text, limit",
    [
        ("every Monday at 9 until Christmas", "until christmas"),
        ("every day at 8 starting tomorrow", "starting tomorrow"),
        ("daily at 3 pm for the next two weeks", "for the next two weeks"),
        ("every hour except at noon", "except at noon"),
    ],
)
def test_what_ends_or_limits_a_schedule_is_named_as_not_part_of_it(text: str, limit: str) -> None:
    read = read_schedule(f"scan it {text}")
    assert read is not None
    assert read.cron
    assert any(f'"{limit}" is not part of the schedule' in said for said in read.assumptions)
