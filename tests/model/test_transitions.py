"""The state table, held against what each step is to do. The facts here are written out, not read from the table."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.model.job import FINAL, UNSTARTED, JobState
from howdah.model.outcome import Actor, Event
from howdah.model.transitions import TRANSITIONS, Facts, diagram, find, next_state

W, REAPER, PERSON, PROMOTER = Actor.WORKER, Actor.REAPER, Actor.OPERATOR, Actor.PROMOTER
RUNNING, UNKNOWN = JobState.RUNNING, JobState.UNKNOWN
GONE = {"lease_expired": True}  # its worker has not been heard of in time
NOT_BEGUN = {"lease_expired": True, "needs_start": True, "started": False}
BEGUN = {"lease_expired": True, "needs_start": True, "started": True}
LAST = {"attempt": 3, "max_attempts": 3}

FACTS = [
    # from, by, event, facts, to (None: no such step)
    ("scheduled", PROMOTER, "promote", {"due": True}, "available"),
    ("scheduled", PROMOTER, "promote", {"due": False}, None),
    ("available", PROMOTER, "promote", {"due": True}, None),
    *[(state, PERSON, "cancel", {}, "cancelled") for state in ("scheduled", "blocked", "available")],
    *[(state, Actor.ENQUEUE, "supersede", {"outdated": True}, "superseded") for state in ("scheduled", "available")],
    ("available", Actor.ENQUEUE, "supersede", {"outdated": False}, None),
    *[(state, PROMOTER, "expire", {"late": True, "attempt": 0}, "expired") for state in ("scheduled", "available")],
    ("available", PROMOTER, "expire", {"late": True, "attempt": 1}, None),
    ("available", PROMOTER, "expire", {"late": False, "attempt": 0}, None),
    ("available", Actor.CLAIM, "claim", {"attempt": 0}, "running"),
    ("available", Actor.CLAIM, "claim", {"attempt": 2, "late": True}, "running"),
    ("available", Actor.CLAIM, "claim", {"outdated": True}, "superseded"),
    # The cap is kept by what makes a job available, not by the claim.
    ("available", Actor.CLAIM, "claim", {"attempt": 10, "max_attempts": 3}, "running"),
    *[(state, Actor.CLAIM, "claim", {}, None) for state in ("scheduled", "blocked", "running", "unknown", "completed")],
    ("running", W, "start", {}, "running"),
    ("running", W, "start", {"started": True}, None),
    ("running", W, "start", {"lease_expired": True}, None),
    ("running", W, "start", {"token_is_current": False}, None),
    ("running", W, "complete", {}, "completed"),
    ("running", W, "complete", {"lease_expired": True}, "completed"),  # as long as nobody has reaped it
    ("running", W, "complete", {"needs_start": True, "started": False}, "completed"),
    ("running", W, "complete", {"cancel_requested": True}, "completed"),
    ("running", W, "complete", {"outdated": True}, "superseded"),
    ("running", W, "complete", {"outdated": True, "on_supersede": "finish"}, "completed"),
    ("running", W, "cancel", {}, "cancelled"),
    ("running", W, "discard", {}, "discarded"),
    ("running", W, "fail", {}, "scheduled"),
    ("running", W, "fail", LAST, "discarded"),
    ("running", W, "fail", LAST | {"excused": 1}, "scheduled"),
    ("running", W, "fail", {"permanent": True}, "discarded"),
    ("running", W, "fail", {"cancel_requested": True, "permanent": True} | LAST, "cancelled"),
    ("running", W, "fail", {"outdated": True, "cancel_requested": True} | LAST, "superseded"),
    ("running", W, "fail", {"outdated": True, "on_supersede": "finish"}, "superseded"),
    ("running", W, "snooze", LAST, "scheduled"),
    ("running", W, "snooze", {"cancel_requested": True}, "cancelled"),
    ("running", W, "snooze", {"cancel_requested": True, "outdated": True}, "superseded"),
    ("running", W, "release", LAST, "available"),
    ("running", W, "release", {"cancel_requested": True}, "cancelled"),
    ("running", W, "release", {"outdated": True}, "superseded"),
    ("running", W, "release", {"excused_release": False}, "scheduled"),
    ("running", W, "release", {"excused_release": False} | LAST, "discarded"),
    ("running", W, "release", {"excused_release": False, "cancel_requested": True} | LAST, "cancelled"),
    ("running", W, "release", {"excused_release": False, "outdated": True} | LAST, "superseded"),
    ("running", PERSON, "cancel", {}, "running"),  # a request: the handler is told
    ("running", REAPER, "reap", {}, None),
    ("running", REAPER, "reap", GONE, "scheduled"),
    ("running", REAPER, "reap", GONE | LAST, "discarded"),
    ("running", REAPER, "reap", GONE | {"on_crash": "discard"}, "discarded"),
    ("running", REAPER, "reap", GONE | {"on_crash": "discard", "cancel_requested": True}, "cancelled"),
    ("running", REAPER, "reap", GONE | {"cancel_requested": True} | LAST, "cancelled"),
    ("running", REAPER, "reap", GONE | {"outdated": True, "cancel_requested": True} | LAST, "superseded"),
    ("running", REAPER, "reap", BEGUN | {"on_crash": "unknown"}, "unknown"),
    (
        "running",
        REAPER,
        "reap",
        BEGUN | LAST | {"on_crash": "unknown", "outdated": True, "cancel_requested": True},
        "unknown",
    ),
    ("running", REAPER, "reap", BEGUN | {"on_crash": "retry"}, "scheduled"),
    *[("running", REAPER, "reap", NOT_BEGUN | LAST | {"on_crash": c}, "available") for c in ("discard", "unknown")],
    ("running", REAPER, "reap", NOT_BEGUN | {"on_crash": "unknown", "cancel_requested": True}, "cancelled"),
    ("running", REAPER, "reap", NOT_BEGUN | {"on_crash": "unknown", "outdated": True}, "superseded"),
    *[("unknown", PERSON, "resolve", {"target": JobState(s)}, s) for s in ("completed", "discarded", "available")],
    ("unknown", PERSON, "resolve", {"target": JobState.AVAILABLE, "outdated": True}, None),
    ("unknown", PERSON, "resolve", {"target": JobState.COMPLETED, "outdated": True}, "completed"),
    ("unknown", PERSON, "cancel", {}, None),
    ("unknown", PERSON, "requeue", {}, None),
    ("unknown", REAPER, "reap", GONE, None),
    ("completed", PERSON, "cancel", {}, None),
    ("completed", PERSON, "requeue", {"key_held": True}, None),
    ("superseded", PERSON, "requeue", {"newer_unfinished": True}, None),
]


@pytest.mark.parametrize(("source", "actor", "event", "facts", "target"), FACTS)
def test_a_step_leads_here(source, actor, event, facts, target):
    assert next_state(actor, Event(event), Facts(state=JobState(source), **facts)) == target


@pytest.mark.parametrize("state", ["completed", "discarded", "cancelled", "superseded", "expired"])
def test_a_final_state_is_left_by_requeue_only(state):
    facts = Facts(state=JobState(state), due=True, outdated=True, late=True, lease_expired=True, attempt=0)
    answers = {(actor, event): next_state(actor, event, facts) for actor, event in product(Actor, Event)}
    steps = {step: to for step, to in answers.items() if to is not None}
    assert steps == {(PERSON, Event.REQUEUE): JobState.AVAILABLE}


@pytest.mark.parametrize(
    "event", [Event.COMPLETE, Event.FAIL, Event.SNOOZE, Event.RELEASE, Event.CANCEL, Event.DISCARD]
)
def test_no_report_with_an_old_token_changes_anything(event):
    assert next_state(W, event, Facts(state=RUNNING, token_is_current=False)) is None
    assert next_state(W, event, Facts(state=UNKNOWN)) is None
    assert next_state(W, event, Facts(state=JobState.AVAILABLE)) is None


def test_the_table_knows_every_state_and_no_other():
    sources = {state for step in TRANSITIONS for state in step.sources}
    targets = {state for step in TRANSITIONS for _, state in step.to}
    assert sources == set(JobState)
    assert targets == set(JobState) - {JobState.BLOCKED}  # nothing enters it before lanes come


def test_every_state_is_unstarted_or_running_or_unknown_or_final():
    groups = [UNSTARTED, {RUNNING}, {UNKNOWN}, FINAL]
    assert sorted(state for group in groups for state in group) == sorted(JobState)


def test_every_step_says_what_happens_otherwise():
    for step in TRANSITIONS:
        if step.event is not Event.RESOLVE:  # a person names the state
            assert str(step.to[-1][0]) == "otherwise", step


def test_a_job_completes_only_where_it_ran():
    for step in TRANSITIONS:
        if JobState.COMPLETED in {state for _, state in step.to}:
            assert step.sources <= {RUNNING, UNKNOWN}


def test_only_claims_and_reports_of_the_holder_lead_to_running():
    into = {step.event for step in TRANSITIONS if RUNNING in {state for _, state in step.to}}
    assert into == {Event.CLAIM, Event.START, Event.CANCEL}


any_facts = st.builds(
    Facts,
    state=st.sampled_from(JobState),
    attempt=st.integers(0, 20),
    excused=st.integers(0, 20),
    max_attempts=st.integers(1, 10),
    on_crash=st.sampled_from(["retry", "discard", "unknown"]),
    on_supersede=st.sampled_from(["cancel", "finish"]),
    target=st.sampled_from([None, JobState.COMPLETED, JobState.DISCARDED, JobState.AVAILABLE]),
    **dict.fromkeys(
        [
            *("needs_start", "started", "outdated", "cancel_requested", "lease_expired", "due", "late", "key_held"),
            *("newer_unfinished", "token_is_current", "permanent", "excused_release"),
        ],
        st.booleans(),
    ),
)


@given(any_facts, st.sampled_from(Actor), st.sampled_from(Event))
def test_at_most_one_step_applies(facts, actor, event):
    rows = [step for step in TRANSITIONS if (step.actor, step.event) == (actor, event)]
    fitting = [step for step in rows if facts.state in step.sources and step.guard.holds(facts)]
    assert len(fitting) <= 1
    assert find(actor, event, facts) == (fitting[0] if fitting else None)


@given(any_facts)
def test_a_job_with_its_attempts_used_up_gets_no_other_by_failing_or_crashing(facts):
    if facts.attempt - facts.excused < facts.max_attempts or facts.state is not RUNNING:
        return
    assert next_state(W, Event.FAIL, facts) not in (JobState.SCHEDULED, JobState.AVAILABLE)
    if not (facts.needs_start and not facts.started):
        assert next_state(REAPER, Event.REAP, facts) not in (JobState.SCHEDULED, JobState.AVAILABLE)


@given(any_facts)
def test_work_that_must_not_be_repeated_is_never_given_back_by_the_reaper_once_begun(facts):
    if facts.state is RUNNING and facts.on_crash == "unknown" and (facts.started or not facts.needs_start):
        assert next_state(REAPER, Event.REAP, facts) in (UNKNOWN, None)


def test_the_diagram_shows_every_state_and_each_line_once():
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert len(lines) == len(set(lines))
    assert all(any(f" {state} " in line or f" {state}:" in line for line in lines) for state in JobState)
    assert "    running --> unknown: reap (on_crash=unknown)" in lines
