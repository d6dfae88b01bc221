"""What is told, to whom, and what becomes of a message that nobody takes."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from apprise import Apprise
from hypothesis import given
from hypothesis import strategies as st
from receivers import http_receiver, mail_receiver

from flows.notifications import outbox as outbox_module
from flows.notifications.addresses import create_mail_address, create_webhook_address
from flows.notifications.events import BY_DEFAULT, KINDS, Event, create_event, plain, public_code
from flows.notifications.notify import notify, notify_outcome
from flows.notifications.outbox import OLDEST, Outbox
from flows.notifications.receivers import (
    Receiver,
    ReceiverList,
    delete_receiver,
    name_block,
    save_receiver,
)
from tasks.microdata.errors import InputError

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HERE, THERE = "slack-webhook/here", "slack-webhook/there"


def event(**facts):
    return Event(**{"kind": "refused", "release": "survey", "series": "survey", "run": "run-1", **facts})


@pytest.fixture
def webhook():
    receiver, server = http_receiver()
    yield receiver
    server.shutdown()
    server.server_close()


class Post:
    """Stands for the receivers. down: those that take nothing."""

    def __init__(self):
        self.down: set[str] = set()
        self.sent: list[tuple[str, str, str]] = []

    def __call__(self, block, subject, body):
        if block in self.down:
            raise ConnectionError("https://hooks.example.org/SECRET does not answer")
        self.sent.append((block, subject, body))


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def outbox(home, post):
    folder = home / "outbox"
    folder.mkdir(parents=True)
    return Outbox(folder, post, now=lambda: NOON)


class TestWhatIsSaid:
    def test_a_refusal_by_hand(self):
        told = event(lines=("fail: reidentification 0.082; limit at most 0.05, found by linkage, who knows the mask",))
        assert told.subject == "sdcert: survey was refused"
        assert told.body.splitlines() == [
            "survey was refused.",
            "Release: survey",
            "Series: survey",
            "Run: run-1",
            "Lines of the policy that were not kept:",
            "- fail: reidentification 0.082; limit at most 0.05, found by linkage, who knows the mask",
            "Where to look: sdcert audit show run-1",
            f"Message {told.key}: one that comes twice is the same event.",
        ]

    @given(
        st.sampled_from(KINDS),
        st.none() | st.text(),
        st.lists(st.text(), max_size=3),
        st.none() | st.text(),
        st.none() | st.just("survey-1.x_y"),
    )
    def test_no_text_of_others_becomes_more_than_text(self, kind, deployment, lines, code, release):
        """No line break, markup, mention or template where a name, a code or a line of the policy stands."""
        told = Event(kind=kind, release=release, deployment=deployment, lines=tuple(lines), code=code)
        fixed = 3 + bool(release) + (deployment is not None) + (code is not None) + bool(lines) + len(lines)
        assert len(told.body.splitlines()) == fixed
        assert told.subject.isprintable()
        assert not set('<>{}@&|`*#\r\\[]"') & set((told.subject + told.body).replace("\\u", ""))

    @given(st.text(), st.text())
    def test_different_texts_stay_different(self, one, other):
        assert (plain(one) == plain(other)) == (one == other)

    @pytest.mark.parametrize(
        ("code", "told"),
        [
            ("no-such-column at ada-lovelace.csv: row 12, column age", "no-such-column"),
            ("wrong-type at /home/ada/drop/survey.csv", "wrong-type"),
            ("ValueError in _read, line 7 (0123456789abcdef)", "ValueError in _read, line 7 (0123456789abcdef)"),
            ("KeyError in <lambda>, line 7", "KeyError in <lambda>, line 7"),
            ("MemoryError", "MemoryError"),
            ("KeyError: 'Ada Lovelace'", "unknown"),
            ("could not convert string to float: '31,5'", "unknown"),
            ("KeyError in read, line 7 of ada.csv", "unknown"),
            ("", "unknown"),
        ],
    )
    def test_a_code_keeps_its_place_in_the_program_and_loses_the_one_in_a_file(self, code, told):
        assert public_code(code) == told
        assert "ada" not in event(kind="failed", code=code).body.lower()

    @pytest.mark.parametrize("field", ["release", "series", "run", "flow_run"])
    @pytest.mark.parametrize("text", ["a\nBcc: x@example.org", "A b", "", "<b>"])
    def test_a_name_that_is_none_is_refused(self, field, text):
        with pytest.raises(ValueError, match=field):
            event(**{field: text})

    def test_events_are_the_same_by_their_run_and_otherwise_by_what_they_are_about(self):
        assert event().key == event(flow_run="other", deployment="other").key
        assert len({event(kind=kind).key for kind in KINDS}) == len(KINDS)
        assert event(run=None, about="a").key != event(run=None, about="b").key
        assert event(run=None, flow_run="a").key != event(run=None, flow_run="b").key
        assert event(kind="review_due", due=NOON).key != event(kind="review_due", due=NOON + timedelta(days=1)).key

    def test_what_the_ledger_says_of_a_run(self, own):
        """The lines that were kept are left out; what a person broke off is not told."""
        from tasks.audit.ledger.entries import RunEnded
        from tasks.audit.ledger.ledger import Ledger
        from tasks.audit.signing.keys import signing_key

        line = {"measure": "reidentification", "deciding_value": 0.0823456, "deciding_bound": "high", "attribute": None}
        line |= {"attack": "linkage", "intruder": "who knows <all>", "direction": "at_most", "limit": 0.05}
        for run, outcome in (("run-1", "refused"), ("run-2", "interrupted"), ("run-3", "failed")):
            ended = RunEnded(
                run=run,
                release="survey",
                series="surveys",
                outcome=outcome,
                not_for_publication=False,
                code="no-such-column at ada.csv: row 1" if outcome == "failed" else None,
                criteria=({**line, "decision": "fail"}, {**line, "decision": "pass", "measure": "loss"})
                if outcome == "refused"
                else (),
            )
            Ledger.current().append(ended, signing_key())
        told = create_event(run="run-1", flow_run="abc")
        assert (told.kind, told.release, told.series, told.flow_run) == ("refused", "survey", "surveys", "abc")
        assert len(told.lines) == 1
        assert "- fail: reidentification 0.08235 (one-sided 95 % bound); limit at most 0.05" in told.body
        assert "knows \\u003call\\u003e" in told.body
        assert create_event(run="run-2") is None
        assert create_event(run="run-3").code == "no-such-column"
        assert create_event(run="run-4") is None, "no such run, and no kind"
        assert create_event("timed_out", run="run-4").run == "run-4"


class TestWhatWaits:
    def test_sent_once_however_often_it_is_told(self, outbox, post):
        for _ in range(3):
            outbox.put(event(), (HERE, THERE))
            outbox.deliver()
        assert [block for block, _, _ in post.sent] == [HERE, THERE]
        assert outbox.waiting() == []

    def test_who_is_down_gets_it_next_time_and_hinders_nobody(self, outbox, post, home):
        post.down = {HERE}
        outbox.put(event(), (HERE, THERE))
        outbox.put(event(kind="failed"), (HERE,))
        told = outbox.deliver()
        assert (told.sent, told.kept) == (1, (f"{HERE}: ConnectionError",)), "no text of the error: it holds the address"
        kept = [path for path in (home / "outbox").rglob("*") if path.is_file()]
        assert all(path.stat().st_mode & 0o077 == 0 and b"SECRET" not in path.read_bytes() for path in kept)
        post.down = set()
        assert outbox.deliver().sent == 2
        assert outbox.deliver().sent == 0
        assert sorted(block for block, _, _ in post.sent) == [HERE, HERE, THERE]

    def test_a_crash_before_it_is_known_that_it_arrived_sends_the_same_key_again(self, outbox, post, monkeypatch):
        outbox.put(event(), (HERE,))
        monkeypatch.setattr(outbox_module, "write_whole", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        assert outbox.deliver().kept == (f"{HERE}: OSError",)
        monkeypatch.undo()
        assert outbox.deliver().sent == 1
        assert len(post.sent) == 2
        assert len({body for _, _, body in post.sent}) == 1

    def test_what_is_too_old_or_too_many_is_given_up_and_counted(self, outbox, post, monkeypatch):
        monkeypatch.setattr(outbox_module, "MOST", 5)
        post.down = {HERE}
        outbox.put(event(run="old"), (HERE,))
        later = Outbox(outbox.folder, post, now=lambda: NOON + OLDEST + timedelta(seconds=1))
        for number in range(7):
            later.put(event(run=f"run-{number}"), (HERE,))
        assert later.deliver().given_up == 3
        assert later.count_discarded() == 3
        assert len(later.waiting()) == 5
        assert later.deliver().given_up == 0

    def test_what_was_sent_is_forgotten_when_nobody_asks_any_more(self, outbox, post):
        outbox.put(event(), (HERE,))
        outbox.deliver()
        later = Outbox(outbox.folder, post, now=lambda: datetime.now(UTC) + timedelta(days=59))
        later.deliver()
        assert len(list((outbox.folder / "sent").iterdir())) == 1
        Outbox(outbox.folder, post, now=lambda: datetime.now(UTC) + timedelta(days=61)).deliver()
        assert list((outbox.folder / "sent").iterdir()) == []

    def test_a_receiver_that_hangs_is_left(self, outbox, post):
        silent, tried = threading.Event(), []

        def hang(*message):
            tried.append(message)
            silent.wait(30)

        slow = Outbox(outbox.folder, hang, limit_seconds=0.1)
        slow.put(event(), (HERE,))
        slow.put(event(run="run-2"), (HERE,))
        assert slow.deliver().kept == (f"{HERE}: no answer in time",)
        assert len(tried) == 1, "the second is not tried"
        silent.set()
        assert len(slow.waiting()) == 2

    def test_many_at_once_send_each_message_once(self, outbox, post):
        def one(number):
            outbox.put(event(run=f"run-{number % 4}"), (HERE, THERE))
            outbox.deliver()

        threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(post.sent) == len(set(post.sent)) == 8

    def test_a_mark_that_goes_meanwhile_stops_nobody(self, outbox, post):
        outbox.put(event(), (HERE,))
        outbox.deliver()
        (outbox.folder / "sent" / "going").symlink_to("gone")  # it is listed, and is not there
        outbox.put(event(run="run-2"), (HERE,))
        assert outbox.deliver().sent == 1

    def test_a_file_of_somebody_else_is_left_alone(self, outbox):
        (outbox.folder / "x.json").write_text('{"block": "../../etc"}')
        assert outbox.deliver().sent == 0


class TestWhoIsTold:
    def test_receivers_by_event_and_by_the_deployments_own(self, home):
        save_receiver(Receiver(name="all", block=HERE))
        save_receiver(Receiver(name="some", block=THERE, events=("failed", "certified")))
        telling = ReceiverList.current()
        assert telling.for_event("refused", ()) == (HERE,)
        assert telling.for_event("certified", ()) == (THERE,)
        assert telling.for_event("failed", ()) == (HERE, THERE)
        assert telling.for_event("refused", ("x/y", THERE)) == ("x/y",)
        assert telling.for_event("certified", ("x/y",)) == (), "certified is told to who asks for it"
        assert (home / "telling.yaml").stat().st_mode & 0o077 == 0
        save_receiver(Receiver(name="all", block=THERE))
        assert ReceiverList.current().find_by_name("all").block == THERE
        assert [one.name for one in delete_receiver("all").receivers] == ["some"]

    def test_a_file_that_is_wrong_stops_nothing_and_says_where(self, home, post, monkeypatch):
        monkeypatch.setattr(outbox_module, "send_by_block", post)
        home.mkdir(exist_ok=True)
        (home / "telling.yaml").write_text("receivers: [{name: x, block: 'https://hooks.example.org/SECRET'}]")
        assert notify(event()).kept == notify(event()).kept == ("telling.yaml cannot be read: it waits",)
        with pytest.raises(InputError) as caught:
            ReceiverList.current()
        assert "receivers[0].block" in str(caught.value)
        (home / "telling.yaml").unlink()
        save_receiver(Receiver(name="all", block=HERE))
        save_receiver(Receiver(name="others", block=THERE, events=("failed",)))
        assert (notify(None).sent, notify(None).sent, [block for block, *_ in post.sent]) == (1, 0, [HERE])

    def test_nobody_is_told_where_there_is_nobody(self, home):
        assert notify(event()).kept == ()

    def test_facts_that_cannot_be_used_are_left_out(self, home, monkeypatch, post):
        monkeypatch.setattr(outbox_module, "send_by_block", post)
        assert notify_outcome("failed", blocks=(HERE, "nonsense"), release="No Slug", flow_run="abc").kept == (
            "nonsense: not TYPE/NAME of a block",
        )
        ((_, subject, _),) = post.sent
        assert subject == "sdcert: something scheduled failed"


class TestAddresses:
    @pytest.mark.parametrize("path", ["", "/", "/services/T0/B0/x9", "/a%20b/%C3%A9/", "/x?sig=a%26b%3D%2B&V=1&empty="])
    def test_a_webhook_is_asked_for_exactly_its_url(self, webhook, path):
        url = webhook.url(path)
        plugin = Apprise.instantiate(create_webhook_address(url))
        assert plugin.notify(body="a <b>\n{{ text }}", title="t")
        ((asked, content),) = webhook.got
        assert asked == (urlsplit(path)._replace(path=urlsplit(path).path or "/").geturl())
        assert content == {"subject": "t", "text": "a <b>\n{{ text }}"}

    @pytest.mark.parametrize(
        "url",
        [
            "nonsense",
            "ftp://example.org/x",
            "https:///x",
            "https://example.org//x",
            "https://example.org/x;y=1",
            "https://example.org/a%2Fb",
            "https://example.org/?a=1&a=2",
            "file:///etc/passwd",
            "https://example.org:port/",
        ],
    )
    def test_what_cannot_be_handed_on_as_it_is_is_refused_without_being_shown(self, url, caplog):
        with pytest.raises(InputError) as caught:
            create_webhook_address(url)
        assert url not in str(caught.value) + caplog.text

    def test_a_service_that_is_known_by_its_url_gets_its_own_form(self):
        url = "https://discord.com/api/webhooks/1234567890/abcdefghij"
        assert create_webhook_address(url) == url

    def test_redirects_are_not_followed(self, webhook):
        webhook.status = 302
        assert not Apprise.instantiate(create_webhook_address(webhook.url())).notify(body="x")

    def test_mail_is_plain_text_with_one_subject(self):
        got, server = mail_receiver()
        try:
            url = f"mailto://127.0.0.1:{server.server_address[1]}?from=sdcert@example.org&to=ada@example.org&format=html"
            told = event(
                lines=("fail: <script>alert(1)</script>\r\nBcc: eve@example.org",), deployment="a\r\nBcc: eve@example.org"
            )
            assert Apprise.instantiate(create_mail_address(url)).notify(body=told.body, title=told.subject)
        finally:
            server.shutdown()
            server.server_close()
        (message,) = got
        assert message["Subject"] == told.subject
        assert message["Bcc"] is None
        assert message.get_content_type() == "text/plain"
        assert message.get_content().strip().splitlines() == told.body.splitlines()

    @pytest.mark.parametrize("url", ["https://example.org", "mailto:ada@example.org", "mailtos://", ""])
    def test_what_is_no_mail_address_is_refused(self, url):
        with pytest.raises(InputError):
            create_mail_address(url)

    def test_our_block_has_a_name_of_its_own(self):
        assert name_block("stewards") == "slack-webhook/sdcert-stewards"
        assert set(BY_DEFAULT) == set(KINDS) - {"certified"}
