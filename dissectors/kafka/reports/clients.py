"""The report of clients, including those that an upgrade of the brokers would break.

Facts (KIP-35, KIP-511, KIP-896). By ApiVersions a client learns the versions that a broker accepts, and it uses the
greatest version that both know. So an old version, although the broker offers a newer one, is the newest that the
client knows. A client that does not ask uses the versions that it was built with. Brokers of 4.0 and later refuse the
versions that KIP-896 removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from dissectors.correlator import BoundedTable, MergedMessages, MessageEvent, merge_by, subscribe
from dissectors.kafka.reports.client_software import ClientSoftware, VersionRange, find_versions, list_releases
from dissectors.kafka.reports.fields import ANSWERS, KAFKA, REQUESTS, api_keys, subscribe_to
from dissectors.kafka.sasl.tokens import read_user
from dissectors.message import Role
from dissectors.report import OpenRow, Report, ReportType, UnknownChoice, column
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, number, structs, text
from dissectors.wire.row_sentence import RowSentence

BREAKS, UNSURE, FINE = "breaks", "unsure", "fine"

MOST_APIS = 128
"""APIs that a row names."""


@make_slotted(frozen=False, eq=False)
class ClientRow(OpenRow):
    """One client, by client id and host.

    used: by API the versions that it used; offered: the greatest versions that brokers offered.
    """

    client: str | None = column("text", "its client id")
    host: str | None = column("text", "the address that it speaks from")
    software: str | None = column("text", "its client library and version, where it tells")
    mechanism: str | None = column("text", "the SASL mechanism that it asks for")
    users: list[str] = column("texts", "the users that it logs in as by SASL", of=lambda row: list(row.logins))
    connections: int = column("number", "connections", of=lambda row: len(row.streams))
    requests: int = column("number", "requests", of=lambda row: row.counts.total())
    negotiates: str = column("text", "yes where it asks brokers what they take", "no")
    apis: list[str] = column("texts", "APIs with the versions that it uses", of=lambda row: list(row.format_apis()))
    streams: dict[int, None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    logins: dict[str, None] = field(default_factory=dict)
    used: dict[str, VersionRange] = field(default_factory=dict)
    offered: dict[str, int] = field(default_factory=dict)

    def use(self, api: str, version: int) -> None:
        """Notes that the client uses a version of an API."""
        if api not in self.used and len(self.used) >= MOST_APIS:
            return
        self.counts[api] += 1
        before = self.used.get(api)
        if before is None:
            self.used[api] = VersionRange(version, version)
        elif not before.least <= version <= before.most:
            self.used[api] = VersionRange(min(before.least, version), max(before.most, version))

    def format_apis(self) -> Iterator[str]:
        """Formats as `Fetch 12-17`, the APIs by name."""
        for api, versions in sorted(self.used.items()):
            yield f"{api} {versions}"


@make_slotted(frozen=False, eq=False)
class UpgradeRow(ClientRow):
    """A client and whether an upgrade breaks it. taken: the versions of each API that the release supports.

    reasons: a text for each API that causes the verdict, which is read first.
    """

    verdict: str = column(
        "text",
        "breaks (it uses a version that the release removed, and would not choose another), unsure (today's brokers "
        "offer it nothing newer), fine",
        of=lambda row: row.judge(),
    )
    why: list[str] = column(
        "texts",
        "versions that it uses and the release removed, and the versions that the release supports",
        of="reasons",
    )
    client: str | None = column("text", "its client id")
    host: str | None = column("text", "the address that it speaks from")
    software: str | None = column("text", "its client library and version, where it tells")
    apis: list[str] = column("texts", "APIs with the versions that it uses", of=lambda row: list(row.format_apis()))
    taken: Mapping[str, VersionRange | None] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def judge(self) -> str:
        """Returns the verdict, and notes a text for each API that causes it."""
        verdicts, why = {FINE}, []
        for api, used in sorted(self.used.items()):
            taken = self.taken.get(api)
            if taken is None or used.most >= taken.least:  # None: brokers alone use what is gone, and are upgraded
                continue
            offered = self.offered.get(api)
            is_choice = offered is not None and offered > used.most
            verdicts.add(BREAKS if is_choice or self.negotiates == "no" else UNSURE)
            today = f", though {offered} is offered" if is_choice else ""
            why.append(f"{api} {used}{today}; {taken} are taken")
        self.reasons = why
        return next(each for each in (BREAKS, UNSURE, FINE) if each in verdicts)


class ClientReport(Report[ClientRow]):
    """A row for each client; rows stay open until the capture ends."""

    name = "clients"
    about = "each client: software, security, APIs and the versions that it uses"
    needs = KAFKA
    row = ClientRow
    sentence = RowSentence("{word}: client ({client=}|None) of ({host=}|None)( with {software})")
    worst = ("requests",)
    selects = (("client", "client"), ("host", "address"))
    key = ("client", "host")

    def _begin(self) -> None:
        self.software = ClientSoftware()
        self.known: BoundedTable[tuple[int, str | None, int | None, int | None], ClientRow] = BoundedTable()
        """By connection, client id and kind of request."""
        self.offers: BoundedTable[str, Mapping[str, int]] = BoundedTable()
        """By server the greatest version that it takes of each API."""
        self.names: BoundedTable[int, str | None] = BoundedTable()
        """By connection the client id of its SaslHandshake."""

    def receive_request(self, event: MessageEvent) -> None:
        """Notes for a request of any API which version of it the client uses."""
        version = event.context.version
        kind = event.stream, event.client_name, event.context.code, version
        row = self.known.get(kind)
        if row is not None and event.operation is not None:
            row.hear(event)
            row.counts[event.operation] += 1
            return
        self.meet(event)

    def receive_requests(self, merged: MergedMessages) -> None:
        """Handles many requests at once of one API and version."""
        event = merged.first
        row = self.known.get((event.stream, event.client_name, event.context.code, event.context.version))
        if event.operation is None:
            return
        is_new = row is None
        row = row or self.meet(event)
        if row is not None:
            row.hear_all(merged)
            row.counts[event.operation] += merged.count - is_new

    def meet(self, event: MessageEvent) -> ClientRow | None:
        """Notes the first request of its kind on a connection."""
        version = event.context.version
        kind = event.stream, event.client_name, event.context.code, version
        if event.operation is None or version is None:
            return None
        row = self.known[kind] = self.find((event.client_name, host_of(event.client)), event)
        if len(row.streams) < self.limit and event.stream not in row.streams:
            row.streams[event.stream] = None
            row.note("connects", event)
        row.use(event.operation, version)
        row.software = row.software or self.software.find(event.stream)
        if not row.offered:
            row.offered = dict(self.offers.get(event.server) or {})
        return row

    def receive_versions(self, event: MessageEvent) -> None:
        """Notes that a client asks what the broker takes, and with which software."""
        self.software.learn(event)
        self.receive_request(event)
        self.await_answer(event, True)
        row = self.rows.get((event.client_name, host_of(event.client)))
        if row is not None:
            row.negotiates = "yes"

    def answer_versions(self, event: MessageEvent) -> None:
        """Notes the versions that a broker offers."""
        if self.take_request(event) is None:
            return
        names = {key: name for name, key in api_keys().items()}
        rows = structs(event.values.get("apiKeys"))
        offered = {names[key]: number(row, "maxVersion") for row in rows if (key := number(row, "apiKey", -1)) in names}
        if offered:
            self.offers[event.server] = offered

    def receive_mechanism(self, event: MessageEvent) -> None:
        """Notes the mechanism that a SaslHandshake asks for."""
        self.receive_request(event)
        row = self.rows.get((event.client_name, host_of(event.client)))
        if row is not None:
            row.mechanism = text(event.values, "mechanism") or row.mechanism
            self.names[event.stream] = event.client_name

    def receive_token(self, event: MessageEvent) -> None:
        """Notes the user that a SASL token logs in; tokens behind SaslHandshake version 0 have no client id."""
        user = read_user(event.values, event.context)
        name = event.client_name or self.names.get(event.stream)
        row = self.rows.get((name, host_of(event.client)))
        if user is not None and row is not None and len(row.logins) < self.limit:
            row.logins[user] = None

    def authenticate(self, event: MessageEvent) -> None:
        """Notes a SaslAuthenticate request, and who logs in."""
        self.receive_request(event)
        self.receive_token(event)

    on = (
        subscribe_to(" ".join(api_keys()), REQUESTS, receive_request, merge=merge_by(receive_requests))
        | subscribe_to("ApiVersions", REQUESTS, receive_versions, "clientSoftwareName", "clientSoftwareVersion")
        | subscribe_to("ApiVersions", ANSWERS, answer_versions, "apiKeys")
        | subscribe_to("SaslHandshake", REQUESTS, receive_mechanism, "mechanism")
        | subscribe_to("SaslAuthenticate", REQUESTS, authenticate, "authBytes")
        | subscribe([(KAFKA, None, Role.RAW)], receive_token, [("payload",)])
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns false: rows mention the first request of a connection, and no message shows that it is one."""
        return False


class UpgradeReport(ClientReport):
    """Whom brokers of another release break. It is of the newest release until `choose` says which."""

    name = "upgrade"
    about = "each client, and whether brokers of another release (--to) break it"
    row = UpgradeRow
    choice = "to"
    release: ClassVar[str | None] = None

    @classmethod
    def choose(cls, value: str) -> ReportType:
        """Returns the report for a release. Raises UnknownChoice for one that is not in the table."""
        if value not in list_releases():
            raise UnknownChoice(f"Release {value} is unknown. Releases are {', '.join(list_releases())}.")
        return type(cls.__name__, (cls,), {"release": value})

    def _begin(self) -> None:
        super()._begin()
        self.taken = find_versions(self.release or list_releases()[-2])

    def make(self, key: Any, event: MessageEvent) -> Any:
        """Makes a row with the versions that the release supports."""
        row: Any = super().make(key, event)
        row.taken = self.taken
        return row

    @classmethod
    def is_fault(cls, cells: Mapping[str, Any]) -> bool:
        """Returns whether the planned upgrade would break this client; `cells` are the cells of its row."""
        return bool(cells["verdict"] == BREAKS)
