import type { Capabilities } from './capabilities.ts';
import type { ContactsHealth } from './ports/contacts.ts';
import type { FleetReport } from './ports/fleet.ts';
import type { PermissionReport } from './ports/permissions.ts';
import type { BackendHealth } from './ports/reading.ts';
import type { DeliveryRecord, StoredWebhook, WebhookHealth, WebhookStatus } from './webhook.ts';

/** How one webhook is doing; of its url the origin alone (decision A6). */
export interface WebhookSummary extends WebhookHealth {
  readonly id: string;
  /** Absent where it has none. */
  readonly name?: string | undefined;
  readonly origin: string;
  /** What became of its last event; null when there was none yet. */
  readonly last_outcome: DeliveryRecord['outcome'] | null;
  /** Of the delivery that is being held, or else of the last one. */
  readonly last_error: string | null;
}

export function webhookSummary(
  { id, url }: Pick<StoredWebhook, 'id' | 'url'>,
  status: WebhookStatus,
  last: DeliveryRecord | undefined,
): WebhookSummary {
  const { name, state, consecutive_failures, last_success_at, held } = status;
  return {
    id,
    ...(name !== null && { name }),
    origin: new URL(url).origin,
    state,
    consecutive_failures,
    last_success_at,
    last_outcome: last?.outcome ?? null,
    last_error: held?.error ?? last?.error ?? null,
  };
}

/** How the index of search is doing. */
export interface SearchReport {
  readonly state: 'building' | 'complete' | 'failing';
  readonly indexed_rows: number;
  /** How many rows there may be to index: reactions are among them, and are left out. */
  readonly total_rows: number;
  /** Messages from this instant on can be found; null when complete, and before the first. */
  readonly indexed_from: string | null;
  /** Why it is not kept up to date; null when it is. */
  readonly problem: string | null;
}

/** How the detection of changes is doing. */
export interface ChangesReport {
  /** `starting`: changes of old messages are not seen before each has been looked at once. */
  readonly state: 'starting' | 'on';
  /** Changes kept for readers that resume. */
  readonly logged: number;
  /** When all messages had last been compared; null before the first time. */
  readonly swept_at: string | null;
}

/** A Mac as a hub sees it. */
export interface FleetMac {
  readonly id: string;
  /** `unreadable`: it is there, and what it says cannot be read, as with another content key. */
  readonly state: 'present' | 'away' | 'unreadable';
  readonly version: string | null;
  /** Numbers and addresses of its person: `from` of a send may be one of them. */
  readonly addresses: readonly string[];
  /** Whole seconds since it was heard of. */
  readonly seen_s: number;
  /** What it says of its own database. */
  readonly backend: BackendHealth | null;
  readonly newest_row: number | null;
  /** How many rows it has that this hub does not have yet. */
  readonly behind: number | null;
}

/** Answer of `GET /api/v1/status` (decision H). */
export interface StatusReport {
  readonly version: string;
  /** Present in a demo: its people do as they are told. */
  readonly demo?: true | undefined;
  /** Where it listens; said over the Unix socket alone. */
  readonly url?: string | undefined;
  /** Whole seconds since the start. */
  readonly uptime_s: number;
  readonly backend: BackendHealth;
  /** Highest row id in chat.db; null while it cannot be read. */
  readonly newest_row: number | null;
  /** The last published event; `age_s` is null when it was published before this start. */
  readonly newest_event: {
    readonly row_id: number;
    readonly age_s: number | null;
    /** At a hub, in place of the row id. */
    readonly offset?: string | undefined;
  };
  /** At a hub alone: the Macs of the fleet, by id. */
  readonly macs?: readonly FleetMac[] | undefined;
  readonly webhooks: readonly WebhookSummary[];
  /** Sends that wait for the owner's decision; only the owner is told, once there are limited keys. */
  readonly held_sends?: number | undefined;
  /** As last known: asking for the status never makes macOS ask the person. */
  readonly permissions: readonly PermissionReport[];
  /** What can be asked of it. Services of earlier versions do not say. */
  readonly capabilities?: Capabilities | undefined;
  /** Names of people. Absent until they are asked for. */
  readonly contacts?: ContactsHealth | undefined;
  /** Absent while changes are not detected. */
  readonly changes?: ChangesReport | undefined;
  /** Absent while search is switched off. */
  readonly search?: SearchReport | undefined;
  /** Absent where the configuration has no fleet. */
  readonly fleet?: FleetReport | undefined;
}

/** Answer of `POST /api/v1/permissions/check`: the same, asked again in the agent's own name. */
export interface PermissionsAnswer {
  readonly permissions: readonly PermissionReport[];
}
