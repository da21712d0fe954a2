"""Which hosts an activity may reach."""

import ipaddress

import pytest
from pytest_django import Settings

from workflows.activities.network_guard import ForbiddenTarget, check_url, redact, resolve, why_forbidden
from workflows.errors import ActivityError, InvalidInput


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.8.9.10:8000/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://240.0.0.1/",
        "http://255.255.255.255/",
        "http://[::]/",
        "http://[::1]/",
        "http://[fe80::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fd00:ec2::254]/",
        "http://[fec0::1]/",
        "http://[ff02::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:1::1]/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://1.1/",
        "http://0/",
        "http://user:password@127.0.0.1/",
        "http://①②⑦.⓪.⓪.①/",
    ],
)
def test_what_is_not_public_is_refused_however_it_is_written(url: str) -> None:
    with pytest.raises(ForbiddenTarget) as refused:
        check_url(url)
    assert refused.value.retryable is False
    assert "password" not in str(refused.value)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_public_addresses_pass(address: str) -> None:
    assert why_forbidden(ipaddress.ip_address(address)) is None


def test_a_public_address_needs_no_name_server() -> None:
    target = check_url("https://1.1.1.1/dns?x=1")
    assert (target.scheme, target.host, target.port, target.addresses) == ("https", "1.1.1.1", 443, ("1.1.1.1",))


@pytest.mark.parametrize(
    "entry, url, allowed",
    [
        ("127.0.0.1", "http://127.0.0.1:8311/", True),
        ("127.0.0.1:8311", "http://127.0.0.1:8311/", True),
        ("127.0.0.1:8311", "http://127.0.0.1:8312/", False),
        ("127.0.0.1", "http://127.0.0.2/", False),
        ("127.0.0.1", "http://localhost/", False),
        ("LocalHost", "http://localhost/", True),
        ("[::1]:8311", "http://[::1]:8311/", True),
        ("::1", "http://[::1]:8311/", True),
        ("127.0.0.1", "http://2130706433/", False),
        ("evil-127.0.0.1", "http://127.0.0.1/", False),
    ],
)
def test_an_operator_can_allow_a_host_or_one_of_its_ports(
    settings: Settings, entry: str, url: str, allowed: bool
) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [entry]
    if allowed:
        assert check_url(url).addresses
    else:
        with pytest.raises(ForbiddenTarget):
            check_url(url)


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(*_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", (address, 80)) for address in ("1.1.1.1", "10.1.2.3")]

    monkeypatch.setattr("socket.getaddrinfo", answers)
    with pytest.raises(ForbiddenTarget, match=r"10\.1\.2\.3, which is private"):
        resolve("two-faced.example", 80)


def test_a_name_that_cannot_be_resolved_may_be_tried_again() -> None:
    with pytest.raises(ActivityError, match="cannot be resolved") as error:
        check_url("http://no-such-host.invalid/")
    assert error.value.retryable


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1",
        "//host/x",
        "ftp://host/",
        "file:///etc/passwd",
        "gopher://host/",
        "http://",
        "http:///x",
        "http://host:99999/",
        "http://host:0/",
        "http://ho st/",
        "http://host/\r\nX-Evil: 1",
        "http://host\\@evil/",
        "http://[::1/",
        "http://-host/",
        "http://ho'st/",
        "http://" + "a" * 300 + "ä.example/",
    ],
)
def test_what_is_no_web_address_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"^url: "):
        check_url(url)


def test_redacting_removes_who_and_how() -> None:
    assert redact("https://me:hunter2@host:8443/a/b?token=abc#frag") == "https://host:8443/a/b"
    assert "hunter2" not in redact("https://me:hunter2@[bad/x")
