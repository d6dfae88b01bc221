"""Addresses of receivers: what Apprise makes of them, and which of them lead into the own network.

Messages are sent from a machine that reaches what the internet does not: an address there (a database, the metadata of a
cloud) is used only if somebody said so. Where a message goes is asked of Apprise, which parses an address in its own way,
and of the resolver, as the sending does: names, decimal and hexadecimal numbers end as the same address.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from tasks.microdata.errors import InputError

ALLOWED = "https://..., or an address of Apprise's that is encrypted, on the internet; others with --internal"
MAIL = ("mailto", "mailtos")
_NAT64 = ip_network("64:ff9b::/96")
_LOCAL_NAT64, _PROTOCOLS = ip_network("64:ff9b:1::/48"), ip_network("192.0.0.0/24")


def refuse_internal(address: str) -> None:
    """InputError for an address that speaks plain http, leads into the own network, or to a name that is not known.

    address: as Apprise takes it. One of a service that Apprise knows by its name leads to that service.
    """
    plugin = load_plugin(address)
    if plugin is None or not _is_hosted(plugin):
        return
    if not plugin.secure and urlsplit(address).scheme not in MAIL:
        raise create_address_error("this address is not encrypted: it speaks plain http", ALLOWED)
    for host in sorted(_hosts(address, plugin)):
        try:
            found = {str(one[4][0]) for one in socket.getaddrinfo(host, None)}
        except (OSError, ValueError):
            raise create_address_error("no host of this name is known here", ALLOWED) from None
        if not all(map(is_public, found)):
            what = "this address leads into the own network: loopback, link-local, private, or none of the internet's"
            raise create_address_error(what, ALLOWED)


def is_public(text: str) -> bool:
    """Whether an IP address is one of the internet; what is wrapped in an IPv6 address counts as what it is."""
    address = ip_address(text.partition("%")[0])
    inner = _unwrap(address) if isinstance(address, IPv6Address) else None
    if inner is not None:
        return is_public(str(inner))
    local = address in _LOCAL_NAT64 or address in _PROTOCOLS or getattr(address, "is_site_local", False)
    return address.is_global and not address.is_multicast and not local


def _unwrap(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _is_hosted(plugin: Any) -> bool:
    """Whether the address itself says where messages go, and not the service that it is of."""
    return any("{host}" in template for template in plugin.templates) and getattr(plugin, "mode", None) != "cloud"


def _hosts(address: str, plugin: Any) -> Iterator[str]:
    """As Apprise and as others read it: one may take for the user's name what the other takes for the host."""
    mail = getattr(plugin, "smtp_host", None)
    named = (mail,) if mail else (plugin.host, urlsplit(address).hostname)
    return (host.strip("[]") for host in dict.fromkeys(named) if host)


def create_webhook_address(url: str) -> str:
    """What Apprise makes of a webhook's URL: its own form for a service that it knows, else JSON with `subject` and `text`.

    Raises InputError: neither, or it would be asked for another path or other parameters than these.
    """
    if load_plugin(url) is not None:
        return url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise create_address_error("this is no URL of a webhook", ALLOWED)
    given = parse_qsl(parts.query, keep_blank_values=True)
    asked = dict(given)
    names = {":message": "text", ":title": "subject", ":version": "", ":type": "", ":attachments": "", "redirect": "no"}
    query = urlencode({**{f"-{name}": value for name, value in asked.items()}, **names}, quote_via=quote)
    address = urlunsplit((parts.scheme.replace("http", "json"), parts.netloc, parts.path, query, ""))
    plugin = load_plugin(address)
    if plugin is None or (plugin.fullpath or "") != parts.path or plugin.params != asked or len(given) != len(asked):
        what = "this URL cannot be handed on unchanged"
        raise create_address_error(what, "one without // ; or %2F in its path, and without twice the same parameter")
    return address


def create_mail_address(url: str) -> str:
    """The address of a mailbox (`mailtos://user:password@example.org?to=...`) that sends plain text."""
    parts = urlsplit(url)
    if parts.scheme not in ("mailto", "mailtos") or load_plugin(url) is None:
        raise create_address_error(
            "this is no mail address of Apprise's", "mailtos://USER:PASSWORD@SERVER:PORT?from=ADDRESS&to=ADDRESS"
        )
    kept = [word for word in parts.query.split("&") if word and not word.lower().startswith("format=")]
    return urlunsplit(parts._replace(query="&".join([*kept, "format=text"])))


def quiet_apprise() -> None:
    """Apprise names an address that it cannot read in its errors: nothing of its is logged."""
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)


def load_plugin(address: str) -> Any:
    """Apprise's own object for an address; None for one that it does not know."""
    from apprise import Apprise

    quiet_apprise()
    try:
        return Apprise.instantiate(address)
    except (TypeError, ValueError):
        return None


def forbid_redirects(address: str) -> str:
    """An address of Apprise's that is asked for itself alone, wherever it sends who asks."""
    plugin = load_plugin(address)
    if plugin is None or not _is_hosted(plugin) or not plugin.redirects:
        return address
    return f"{address}{'&' if '?' in address else '?'}redirect=no"


def create_address_error(what: str, allowed: str) -> InputError:
    """The URL itself is not shown: it may hold a password."""
    return InputError("address", "the URL of the receiver", what, allowed, "correct it in the environment, or type it again")
