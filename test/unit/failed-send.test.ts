import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PosternError } from '../../src/client/postern-client.ts';
import { mayHaveBeenSent } from '../../src/core/model/failed-send.ts';
import type { ProblemText } from '../../src/core/model/problem-text.ts';
import { PROBLEMS, problem } from '../../src/core/model/problems.ts';
import { sendError } from '../../src/features/imsg/rpc-error.ts';
import { FEATURES } from '../../src/features/list.ts';

const CATALOGUES: readonly Readonly<Record<string, ProblemText>>[] = [
  PROBLEMS,
  ...FEATURES.map(({ problems = {} }) => problems),
];
const CODES = new Set(
  CATALOGUES.flatMap((catalogue) => Object.entries(catalogue).map(([name, { code = name }]) => code)),
);
const MAY_HAVE_BEEN_SENT = [
  'internal_error',
  'misdirected',
  'self_chat_unseen',
  'send_in_progress',
  'send_outcome_unknown',
];

describe('a failed send may have sent the message', () => {
  test('after these codes of the catalogue, and after no others', () => {
    expect([...CODES].filter((code) => mayHaveBeenSent({ code })).sort()).toEqual(MAY_HAVE_BEEN_SENT);
  });

  test('after a code that is not in the catalogue', () => {
    for (const code of ['of_a_newer_version', 'connection_lost', 'not_postern', 'SQLITE_BUSY', '']) {
      expect([code, mayHaveBeenSent({ code })]).toEqual([code, true]);
    }
  });

  test('if one of its parts was sent, no matter the code', () => {
    expect(mayHaveBeenSent(problem('automation_not_allowed', {}, { extra: { parts_sent: ['/body'] } }))).toBe(true);
    expect(mayHaveBeenSent(problem('automation_not_allowed', {}, { extra: { parts_sent: [] } }))).toBe(false);
  });

  test('as the table of docs/api.md says', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
    const [, table = ''] = /### May it have been sent\?([^#]+)/.exec(page) ?? [];
    const named = [...table.matchAll(/`(\w+)`/g)].flatMap(([, code = '']) => (CODES.has(code) ? [code] : []));
    expect([...new Set(named)].sort()).toEqual(MAY_HAVE_BEEN_SENT);
  });
});

describe('a client of imsg', () => {
  const disposition = (problem: Readonly<Record<string, unknown>>) =>
    (sendError(new PosternError(503, problem)) as { readonly data?: unknown }).data;

  test('repeats no send of which a part went out', () => {
    const away = { code: 'messages_unavailable', detail: 'Messages is away.' };
    expect(disposition(away)).toMatchObject({ disposition: 'not_started', retry_safe: true });
    expect(disposition({ ...away, parts_sent: ['/body'] })).toMatchObject({
      disposition: 'may_have_completed',
      retry_safe: false,
    });
  });

  test('repeats no send that failed in a way it does not know', () => {
    expect(disposition({ code: 'of_a_newer_version' })).toMatchObject({ disposition: 'may_have_completed' });
    for (const code of ['unreachable', 'invalid_key', 'not_capable', 'dry_run']) {
      expect(disposition({ code })).toMatchObject({ disposition: 'not_started' });
    }
  });
});
