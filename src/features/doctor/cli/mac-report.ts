import type { Diagnostics, NewRow } from '../../../client/diagnostics-types.ts';
import type { Finding } from '../../../core/model/finding.ts';
import { isOnLocalNetwork, LOCAL_NETWORK } from '../../../core/model/local-network.ts';
import { PERMISSION_REASONS } from '../../../core/model/ports/permissions-ports.ts';
import { diagnosticsSchema } from '../schema.ts';
import { absent, found, type Observation, type ReportedValue } from './observation.ts';
import { type MacProbeKey, macObservations, type ProbeContext } from './probes.ts';
import { fields, knownWords, oneOf } from './redact.ts';
import { observedRefusal, type ReportClient, whole } from './report-client.ts';
import { sendToMe } from './send-to-me.ts';
import { tccLog } from './tcc-log.ts';

/** The keys of the report that get their values from the service's diagnostics. */
const DIAGNOSED_KEYS = [
  'accounts',
  'live_chats',
  'stored_chats',
  'changes',
  'data_shapes',
  'sqlite',
  'flips',
  'join_delay',
  'self_messages',
  'sleep_gaps',
  'delivery_errors',
] as const;
const SERVICE_KEYS = [
  'service',
  'permissions',
  'events',
  'webhooks',
  ...DIAGNOSED_KEYS,
  'contacts',
  'local_network',
] as const;

export type ReportKey = MacProbeKey | (typeof SERVICE_KEYS)[number] | 'tcc_log' | 'findings' | 'send_to_me';

/** A document that can be pasted into a bug report. Contains nobody's name, address, key or text. */
export interface MacReport {
  readonly format: 1;
  readonly postern: string;
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  readonly keys: Readonly<Record<ReportKey, Observation>>;
}

export interface ReportParts {
  readonly version: string;
  readonly probes: ProbeContext;
  /** Undefined if there is no service to ask. */
  readonly client: ReportClient | undefined;
  readonly findings: readonly Finding[];
  /** Allows macOS to prompt the user. */
  readonly prompt: boolean;
  readonly watchSeconds: number;
  /** The user's own address to send a test to; `true` chooses one of the user's addresses. Undefined sends nothing. */
  readonly sendToMe: string | true | undefined;
}

export async function macReport(parts: ReportParts): Promise<MacReport> {
  const { probes, version, findings } = parts;
  const [service, mac] = await Promise.all([serviceObservations(parts), macObservations(probes)]);
  // Reads macOS's log of permissions last, so that it includes the requests that this report caused.
  const log = probes.machine.platform === 'darwin' ? await tccLog(probes.machine.run) : absent('not_macos');
  return {
    format: 1,
    postern: plainVersion(version),
    node: plainVersion(process.versions.node),
    platform: oneOf(['darwin', 'linux'], probes.machine.platform) ?? 'other',
    arch: oneOf(['arm64', 'x64'], probes.machine.arch) ?? 'other',
    keys: { ...mac, ...service, tcc_log: log, findings: found(states(findings)) },
  };
}

type ServiceObservations = Readonly<Record<(typeof SERVICE_KEYS)[number] | 'send_to_me', Observation>>;

async function serviceObservations(parts: ReportParts): Promise<ServiceObservations> {
  const { client } = parts;
  const away = absent('no_service');
  const nothing = Object.fromEntries(SERVICE_KEYS.map((key) => [key, away])) as ServiceObservations;
  const notSent = parts.sendToMe === undefined ? absent('not_asked') : away;
  if (client === undefined) return { ...nothing, send_to_me: notSent };
  try {
    return await askClient(client, parts);
  } catch (error) {
    const refused = observedRefusal(error);
    return { ...nothing, service: refused, send_to_me: notSent };
  }
}

async function askClient(client: ReportClient, parts: ReportParts): Promise<ServiceObservations> {
  const { prompt, watchSeconds } = parts;
  const { backend } = await client.health();
  if (prompt) await client.checkPermissions().catch(ignored);
  const status = await client.status();
  const { version, uptime_s, permissions, newest_row, newest_event, webhooks } = status;
  const { contacts } = status as { readonly contacts?: { readonly state: string; readonly message: string | null } };
  const isGranted = permissions.some(({ name, state }) => name === 'automation' && state === 'granted');
  const asks = prompt || isGranted || parts.sendToMe !== undefined;
  const watch = (seconds: number): Promise<Diagnostics | undefined> =>
    client.diagnostics({ seconds, ...(asks && { ask: 'messages' }) }).then(checked, ignored);
  const clock = parts.probes.machine.clock;
  const [diagnostics, sent] =
    parts.sendToMe === undefined
      ? [await watch(watchSeconds), absent('not_asked')]
      : await sendToMe({ client, clock, watch, watchSeconds, wanted: parts.sendToMe });
  return {
    service: found({
      version: plainVersion(version),
      uptime_s: whole(uptime_s),
      connected: backend.connected,
      message: backend.message === null ? null : knownWords(backend.message),
    }),
    permissions: found(
      permissions.map(({ name, state, reason }) => ({
        name: oneOf(['full_disk_access', 'automation'], name),
        state: oneOf(['granted', 'denied', 'unknown'], state),
        reason: oneOf(PERMISSION_REASONS, reason),
      })),
    ),
    events: found({
      rows_behind: newest_row === null ? null : whole(newest_row - newest_event.row_id),
      age_s: newest_event.age_s === null ? null : whole(newest_event.age_s),
    }),
    webhooks: found({ all: webhooks.length, failing: webhooks.filter(({ state }) => state === 'failing').length }),
    ...diagnosed(diagnostics),
    contacts: found({
      state: oneOf(['off', 'not_loaded', 'loaded', 'unreadable'], contacts?.state),
      has_message: typeof contacts?.message === 'string',
    }),
    local_network: found({
      webhooks: webhooks.filter(({ origin }) => isOnLocalNetwork(origin)).length,
      refused: webhooks.filter(({ last_error: error }) => error?.includes(LOCAL_NETWORK) === true).length,
    }),
    send_to_me: sent,
  };
}

type Diagnosed = Readonly<Record<(typeof DIAGNOSED_KEYS)[number], Observation>>;

function diagnosed(diagnostics: Diagnostics | undefined): Diagnosed {
  if (diagnostics === undefined) {
    return Object.fromEntries(DIAGNOSED_KEYS.map((key) => [key, absent('no_service')])) as Diagnosed;
  }
  const { data_shapes: shapes, sqlite, sleep_gaps: gaps, delivery_errors: errors } = diagnostics;
  const { accounts, live_chats, stored_prefixes, changes } = diagnostics;
  const asked = (value: ReportedValue): Observation => {
    const error = (value as { readonly error?: ReportedValue } | null)?.error;
    if (error === undefined) return found(value);
    return error === 'not_asked' ? absent('not_asked') : absent('failed', { error });
  };
  return {
    accounts: asked(plain(accounts)),
    live_chats: asked(plain(live_chats)),
    stored_chats: stored_prefixes === null ? absent('failed') : found(plain(stored_prefixes)),
    changes: changes === null ? absent('failed') : found(plain(changes)),
    data_shapes: shapes ? found(plain(shapes)) : absent('failed'),
    sqlite: sqlite ? found(plain(sqlite)) : absent('failed'),
    flips: changes === null ? absent('failed') : found(flipsIn(changes.rows)),
    join_delay: changes === null ? absent('failed') : found(joinDelaysIn(changes.rows)),
    self_messages: changes === null ? absent('failed') : found(selfMessagesIn(changes.rows)),
    sleep_gaps: gaps ? found(plain(gaps)) : absent('failed'),
    delivery_errors: errors ? found(plain(errors)) : absent('failed'),
  };
}

/**
 * Counts the rows that appeared while chat.db was watched, and how many of them changed from received to outgoing or
 * back.
 */
function flipsIn(rows: readonly NewRow[]): ReportedValue {
  const flipped = rows.filter((row) => row.flipped === true);
  return {
    rows: rows.length,
    flipped: flipped.length,
    flipped_without_handle: flipped.filter((row) => row.had_handle === false).length,
    received_without_handle: rows.filter((row) => !row.is_from_me && row.had_handle === false).length,
  };
}

/**
 * Returns two numbers for each received row: the milliseconds until the row had a conversation, and the seconds from
 * the row's date until the row was first seen.
 */
function joinDelaysIn(rows: readonly NewRow[]): ReportedValue {
  return rows.filter((row) => !row.is_from_me).map((row) => ({ delay_ms: row.join_delay_ms, age_s: whole(row.age_s) }));
}

/**
 * Returns the rows in the owner's conversations with themselves, in order. Equal numbers of `chat` and `handle` mean
 * the same chat and the same address.
 */
function selfMessagesIn(rows: readonly NewRow[]): ReportedValue {
  return rows
    .filter((row) => row.is_self === true)
    .map((row) => ({
      is_from_me: row.is_from_me,
      chat: row.chat ?? null,
      handle: row.handle ?? null,
      delivered: row.delivered === true,
      seen_ms: row.seen_ms,
    }));
}

/**
 * Returns only the documented members of the answer; undefined if one has the wrong form. The members are numbers,
 * column names and words of closed sets, except `own_addresses`. The report never shows `own_addresses`.
 */
function checked(answer: unknown): Diagnostics | undefined {
  const result = diagnosticsSchema.safeParse(answer);
  return result.success ? result.data : undefined;
}

function plain(value: unknown): ReportedValue {
  return JSON.parse(JSON.stringify(value)) as ReportedValue;
}

/**
 * Returns the name and state of each finding. The name of a webhook's finding is shortened, because it contains the
 * webhook's name or id. All other findings have fixed names.
 */
function states(findings: readonly Finding[]): ReportedValue {
  return findings.map(({ name, state }) => ({ name: name.startsWith('webhook ') ? 'webhook' : name, state }));
}

function plainVersion(version: string): string {
  return (
    fields(`version: ${version}`, { version: /\d{1,6}\.\d{1,6}\.\d{1,6}(?:-[a-z]{2,5}\.?\d{0,6})?/ }).version ?? ''
  );
}

function ignored(): undefined {
  return undefined;
}
