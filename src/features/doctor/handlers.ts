import type { Handler } from '../../core/http/router.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { DIAGNOSTICS } from './port.ts';
import { diagnosticsQuery } from './request.ts';

/** Default time for which chat.db is watched. */
const WATCH_SECONDS = 30;

/** The handler for the diagnostics (decision H). */
export const HANDLERS = {
  async runDiagnostics({ query, caller }) {
    const { seconds = WATCH_SECONDS, ask } = readQuery(diagnosticsQuery, query);
    return { status: 200, body: await caller.port(DIAGNOSTICS).run({ seconds, asksMessages: ask === 'messages' }) };
  },
} satisfies Readonly<Record<string, Handler>>;
