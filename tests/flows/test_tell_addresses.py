"""Where messages may go: encrypted to the internet, into the own network only if somebody said so."""

from __future__ import annotations

import pytest
from apprise import Apprise

from flows.notifications.addresses import (
    create_mail_address,
    create_webhook_address,
    forbid_redirects,
    is_public,
    refuse_internal,
)
from tasks.microdata.errors import InputError


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.9", "0.0.0.1", "169.254.169.254", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1"),
        *("::1", "::", "fe80::1%lo", "fc00::1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "2002:7f00:1::", "224.0.0.1"),
        *("64:ff9b::a9fe:a9fe", "ff02::1", "255.255.255.255", "240.0.0.1"),
    ],
)
def test_what_is_no_address_of_the_internet(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"])
def test_what_is_one(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1/x", "https://localhost/x", "https://2130706433/x", "https://0x7f000001/x", "https://127.1/x"),
        *("https://0251.0376.0251.0376/x", "https://169.254.169.254/latest/meta-data", "https://10.0.0.1:8443/x"),
        *("https://[::1]/x", "https://[::ffff:127.0.0.1]/x", "https://93.184.216.34@127.0.0.1/x"),
        *("https://u:p@127.0.0.1/x", "https://127.0.0.1./x", "https://no-such-host.invalid/x", "http://93.184.216.34/x"),
        *("json://93.184.216.34/x", "jsons://10.0.0.1/x", "jsons://u@127.0.0.1@93.184.216.34/x", "ntfys://10.0.0.1/topic"),
        *("gotifys://192.168.0.4/token", "mailtos://u:p@example.org?smtp=10.0.0.1&to=a@example.org"),
    ],
)
def test_what_leads_into_the_own_network_is_refused_without_being_shown(url):
    with pytest.raises(InputError) as caught:
        refuse_internal(create_mail_address(url) if url.startswith("mail") else create_webhook_address(url))
    assert url not in str(caught.value)
    assert "--internal" in str(caught.value) or "unchanged" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        *("https://93.184.216.34/x", "https://u:p@93.184.216.34:8443/x?a=1", "jsons://93.184.216.34/x", "ntfy://topic"),
        *("https://discord.com/api/webhooks/1234567890/abcdefghij", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"),
    ],
)
def test_what_leads_to_the_internet_is_taken(url):
    refuse_internal(create_webhook_address(url))


def test_a_name_is_what_it_leads_to_now(monkeypatch):
    leads = {"to": "93.184.216.34"}
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: [(2, 1, 6, "", ("93.184.216.34", 0)), (2, 1, 6, "", (leads["to"], 0))])
    refuse_internal(create_webhook_address("https://example.org/x"))
    leads["to"] = "169.254.169.254"
    with pytest.raises(InputError):
        refuse_internal(create_webhook_address("https://example.org/x"))


def test_an_address_of_apprises_is_not_sent_elsewhere():
    address = forbid_redirects("jsons://93.184.216.34/x?-a=1")
    assert not Apprise.instantiate(address).redirects
    assert forbid_redirects(address) == address


@pytest.mark.parametrize("address", ["fec0::1", "64:ff9b:1::7f00:1", "192.0.0.8"])
def test_addresses_that_no_part_of_the_internet_routes_are_internal(address):
    assert not is_public(address)
