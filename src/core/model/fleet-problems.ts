import type { ProblemText } from './problem-text.ts';

/**
 * The problems that a fleet adds (docs/fleet.md). A single Mac returns `offset_of_a_hub` when a client sends it an
 * offset from a hub. Only hubs return the others.
 */
export const FLEET_PROBLEMS = {
  offset_of_a_hub: {
    status: 400,
    code: 'invalid_request',
    detail: 'This offset comes from a hub, but this service runs on a single Mac.',
    hint: 'Continue at the hub, or begin here without an offset.',
    pointer: '?after',
  },
  offset_of_a_mac: {
    status: 400,
    code: 'invalid_request',
    detail: 'At a hub `after` must be an offset from a hub, or 0 for everything that is kept.',
    hint: 'A row id is valid on one Mac only. Begin without `after`, and keep the `offset` of events.',
    pointer: '?after',
  },
  offset_too_deep: {
    status: 400,
    code: 'invalid_request',
    detail: 'Across several Macs `offset` must be at most {max}.',
    hint: 'Ask for one conversation, or continue with the URL of the Link header.',
    pointer: '?offset',
    example: { max: 1000 },
  },
  offset_too_old: {
    status: 410,
    code: 'offset_expired',
    detail: 'The events after this offset are no longer kept.',
    hint: 'Read the messages again, then continue from the offset in `oldest`, which covers everything that is still kept.',
    extra: { oldest: '0' },
  },
  events_missing: {
    status: 410,
    code: 'offset_expired',
    detail: 'Events after this offset are missing, and their Mac cannot supply them any more.',
    hint: 'Read the messages again, then continue from the offset in `latest`.',
    extra: { latest: 'M3wyMDI2LTAxLTAyVDAzOjA0OjA1WnwxMnxhfDB8MDAwMDAwMDB8' },
  },
  from_required: {
    status: 422,
    detail: 'It is not clear which Mac should send this: {reason}.',
    hint: "Nothing was sent. Name a Mac in `from`, or use the hub's conversation id as the recipient.",
    pointer: '/from',
    example: { reason: '2 Macs have a conversation with the recipient' },
    extra: { candidates: ['m7', 'm12'] },
  },
  mac_unknown: {
    status: 422,
    detail: 'There is no such Mac in this fleet.',
    hint: 'Nothing was sent. GET /api/v1/status lists the Macs and their addresses.',
    pointer: '/from',
  },
  not_at_a_hub: {
    status: 501,
    mayHaveBeenSent: false,
    detail: 'A hub does not do this.',
    hint: 'Ask the Postern of the Mac itself. docs/fleet.md lists what a hub does not do.',
  },
  broker_away: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The broker of the fleet cannot be reached.',
    hint: 'Nothing was sent. The hub keeps trying; see fleet.servers in config.toml.',
  },
  broker_full: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The broker of the fleet accepts no more messages, because its storage is full.',
    hint: 'Nothing was sent. Give the servers more room, or keep fewer events with "postern fleet init --connect --max-bytes".',
  },
  hub_behind: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'This hub has not read the stream up to this offset yet.',
    hint: 'Keep the offset and try again in a few seconds; another hub may have read further.',
  },
  hub_filling: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The hub has just started and does not know the fleet yet.',
    hint: 'Try again in a few seconds. If the problem persists, see `backend` in GET /api/v1/status.',
  },
  hub_key_wrong: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'This hub cannot read events, because its content key differs from that of the Macs.',
    hint: 'Copy content.key from the folder of the fleet to this hub, then restart it.',
  },
  mac_away: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The Mac {mac} is away.',
    hint: 'Check that it is on, has a network and runs Postern.',
    example: { mac: 'm7' },
  },
  mac_busy: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The Mac is answering too many requests already.',
    hint: 'Try again in a few seconds.',
  },
  send_expired: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The Mac received the message too late and did not send it.',
    hint: 'Send it again. If this happens each time, check the clocks of the hub and the Mac.',
  },
  webhooks_unavailable: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'No hub delivers to webhooks at the moment, or the broker did not accept a change of a webhook.',
    hint: 'Another hub takes over within 10 seconds. Before you repeat a change then, check the webhook: the change may have been made.',
  },
  mac_answer_invalid: {
    status: 502,
    mayHaveBeenSent: true,
    detail: 'The Mac returned an answer that cannot be understood.',
    hint: 'Check that the hub and the Mac run the same version of Postern.',
  },
  mac_answer_too_large: {
    status: 502,
    mayHaveBeenSent: true,
    detail: 'The answer of the Mac is too large for the broker.',
    hint: 'Ask for fewer items at a time.',
  },
} as const satisfies Readonly<Record<string, ProblemText>>;
