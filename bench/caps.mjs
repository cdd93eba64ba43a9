// Measures the check of the caps of a limited key when the audit log is full, with and without its index.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStateDatabase } from '../dist/src/core/state/state-database.js';
import { access } from '../dist/src/features/access/feature.js';
import { auditStore } from '../dist/src/features/access/state/audit-store.js';
import { summary } from './figures.mjs';

const LINES = 100_000;
const MAX_MS = 1;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Fills the audit log with lines of the last day. One in 500 is a send that counts: 200 in all, the cap of all keys
 * together.
 */
export function capRow({ rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-caps-'));
  const state = openStateDatabase(join(folder, 'state.db'), [access]);
  try {
    state
      .prepare(
        `WITH RECURSIVE line (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM line WHERE n < ?)
         INSERT INTO audit (at_ms, key_id, action, target, outcome, count, is_new, ask)
         SELECT n, 'key' || n % 5, iif(n % 500 = 0, 'send', 'refused'), 'somebody' || n % 40, 'asked', 1, 0,
           iif(n % 500 = 0, 'ask' || n, NULL) FROM line`,
      )
      .run(LINES);
    const indexed = measured(state, rounds);
    state.exec('DROP INDEX audit_of_all_asks');
    const before = measured(state, rounds);
    return {
      what: `checking the caps of a send, with ${LINES.toLocaleString('en')} lines in the audit log`,
      rival: 'the same without the index',
      postern: indexed,
      rivals: before,
      unit: 'ms of processor time',
      ratio: indexed.median / before.median,
      bound: MAX_MS,
    };
  } finally {
    state.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function measured(state, rounds) {
  const store = auditStore(state);
  const calls = 50;
  const spent = [];
  for (let round = 0; round <= rounds; round += 1) {
    const before = process.cpuUsage();
    for (let call = 0; call < calls; call += 1) {
      store.sends(`key${call % 5}`, 'somebody1', DAY_MS);
      store.ask('ask500', 0);
    }
    const { user, system } = process.cpuUsage(before);
    if (round > 0) spent.push((user + system) / 1000 / calls);
  }
  return summary(spent);
}
