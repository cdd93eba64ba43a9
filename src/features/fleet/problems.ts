import type { ProblemText } from '../../core/model/problem-text.ts';
import { problemsOf } from '../../core/model/problems.ts';

/**
 * The problems that only a hub answers with. Some of them say that a machine refused the request that it was passed.
 */
export const FLEET_PROBLEMS = {
  offset_of_a_mac: {
    status: 400,
    code: 'invalid_request',
    detail: 'At a hub `after` must be an offset from a hub, or 0 for everything that is kept.',
    hint: 'A row id is valid on one Mac only. Begin without `after`, and keep the `offset` of events.',
    pointer: '?after',
  },
  offset_expired: {
    status: 410,
    detail: 'The stream of events does not have this offset any more, or has another event at its place.',
    hint: 'Continue after `resume`. Nothing is lost, but events may come again with the same ids.',
    extra: {
      resume: 'Mi50fDE3OTAwMDAwMDAwMDA',
      oldest: '0',
      latest: 'Mi4yMDI2LTAxLTAyVDAzOjA0OjA1Wnw3fDE3OTAwMDAwMDAwMDA',
    },
  },
  stream_changed: {
    status: 410,
    code: 'offset_expired',
    detail: 'The stream of events was replaced while it was read.',
    hint: 'Ask again with the same offset.',
  },
  include_at_the_mac: {
    status: 400,
    code: 'invalid_request',
    detail: 'A hub has no more than the event itself: it takes no `include`.',
    hint: 'Read the message at its Mac: GET /macs/ID/api/v1/messages/gGUID?include=details',
    pointer: '?include',
  },
  mac_needed: {
    status: 404,
    detail: 'At a hub this path needs a Mac in front of it.',
    hint: 'Begin the path with one of `macs`: /macs/ID.',
    extra: { macs: ['/macs/m7/api/v1/messages'] },
  },
  mac_unknown: {
    status: 404,
    detail: 'There is no such Mac in this fleet.',
    hint: 'GET /api/v1/macs lists the Macs.',
  },
  mac_away: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The Mac {mac} does not answer; it was last heard {since}.',
    hint: 'Check that it is on, has a network and runs Postern.',
    example: { mac: 'm7', since: 'at 2026-01-02T03:04:05Z' },
  },
  mac_silent: {
    status: 504,
    mayHaveBeenSent: true,
    detail: 'The Mac {mac} took the request and then was not heard any more.',
    hint: 'Look at the Mac before you repeat what changes something.',
    example: { mac: 'm7' },
  },
  send_outcome_unknown: {
    status: 504,
    mayHaveBeenSent: true,
    detail: 'It is not known whether the Mac {mac} sent the message.',
    hint: 'Repeat the request with the same Idempotency-Key: the message is sent at most once.',
    example: { mac: 'm7' },
  },
  other_machine: {
    status: 409,
    mayHaveBeenSent: false,
    detail:
      'This id, offset, cursor or key of MCP belongs to another machine of the Mac {mac} than {machine}, which answers now.',
    hint: 'Name the machine in the path: /macs/ID/at/MACHINE/…, or begin the list again.',
    example: { mac: 'm7', machine: 'imac-7f' },
  },
  mac_busy: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The Mac is answering too many requests already.',
    hint: 'Try again; read or close the answers that are open.',
  },
  too_many_open: {
    status: 503,
    code: 'mac_busy',
    mayHaveBeenSent: false,
    detail:
      'Too many requests with this key, or without one, are running at this Mac, or their answers are not read yet.',
    hint: 'Read or close the answers that are open, then try again.',
  },
  mac_service_away: {
    status: 503,
    mayHaveBeenSent: true,
    detail: 'The Mac took the request, but its service did not answer.',
    hint: 'Look at the Mac before you repeat what changes something.',
  },
  mac_answer_invalid: {
    status: 502,
    mayHaveBeenSent: true,
    detail: 'The Mac returned an answer that cannot be understood.',
    hint: 'Check that the hub and the Mac run the same version of Postern.',
  },
  clock_differs: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The clocks of the hub and of the Mac differ by more than a minute, or the request was late.',
    hint: 'Let both set their clocks by the network, then send the request again.',
  },
  fleet_stream: {
    status: 400,
    detail: 'Endless streams of one Mac do not pass through a hub.',
    hint: 'Ask the hub: GET /api/v1/events?mac=ID',
  },
  webhook_busy: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'Another hub was changing this webhook at the same time.',
    hint: 'Try again.',
  },
} as const satisfies Readonly<Record<string, ProblemText>>;

export const fleetProblem = problemsOf(FLEET_PROBLEMS);

/** The codes with which a machine refuses a request. Everything else is an answer of its API. */
export const REFUSALS = ['clock_differs', 'mac_busy', 'mac_service_away', 'fleet_stream'] as const;
export type MachineRefusal = (typeof REFUSALS)[number];
