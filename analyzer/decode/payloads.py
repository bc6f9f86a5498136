"""Reads the application payloads in a row's message (dissectors.payload)."""

from __future__ import annotations

from analyzer.decode.bodies import decode_body
from analyzer.decode.resolved_names import TopicNamer
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector, Role
from dissectors.message import Values
from dissectors.payload import Payload
from dissectors.wire.fast_path import NULL


def read_payloads(
    session: Analysis, naming: TopicNamer, row: int, dissector: Dissector, body: Body, context: Context
) -> tuple[Payload, ...]:
    """Returns the payloads of a row, with names for topic ids; none if the dissector fails."""

    def get_request_values() -> Values | None:
        partner = session.rows.cell("partner", row)
        return decode_body(session, partner).values if partner != NULL and context.role is Role.RESPONSE else None

    named = naming.fill_in_names(dissector, body, context, row)
    return defects.extract_payloads(dissector, named.values, get_request_values)
