import type { ProblemText } from './problem-text.ts';

/** Problems of a fleet: only a hub answers them (docs/fleet.md). */
export const FLEET_PROBLEMS = {
  broker_away: {
    status: 503,
    detail: 'The broker of the fleet cannot be reached.',
    hint: 'Nothing was sent. The hub keeps trying; see fleet.servers in config.toml.',
  },
  mac_away: {
    status: 503,
    detail: 'The Mac {mac} is away.',
    hint: 'Check that it is on, has a network and runs Postern.',
    example: { mac: 'm7' },
  },
  mac_busy: {
    status: 503,
    detail: 'The Mac is answering too many requests already.',
    hint: 'Try again in a few seconds.',
  },
  send_expired: {
    status: 503,
    detail: 'The Mac took up the message too late, and did not send it.',
    hint: 'Send it again.',
  },
  mac_answer_invalid: {
    status: 502,
    detail: 'The Mac gave an answer that cannot be understood.',
    hint: 'Check that the hub and the Mac run the same version of Postern.',
  },
  mac_answer_too_large: {
    status: 502,
    detail: 'The answer of the Mac is too large for the broker.',
    hint: 'Ask for fewer items at a time.',
  },
} as const satisfies Readonly<Record<string, ProblemText>>;
