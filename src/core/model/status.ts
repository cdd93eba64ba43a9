import type { ArrivalDelay } from './arrival-delay.ts';
import type { Capabilities } from './capabilities.ts';
import type { CommandWords } from './command-words.ts';
import type { MessagesAccount } from './messages-account.ts';
import type { MessagesAnswer, PermissionReport } from './ports/permissions-ports.ts';
import type { BackendHealth } from './ports/reading-ports.ts';
import type { DeliveryRecord, StoredWebhook, WebhookHealth, WebhookStatus } from './webhook.ts';

/** The state of one webhook, with only the origin of its URL (decision A6). */
export interface WebhookSummary extends WebhookHealth {
  readonly id: string;
  /** Absent for a webhook without a name. */
  readonly name?: string | undefined;
  readonly origin: string;
  /** Outcome of the webhook's last finished delivery; null before the first. */
  readonly last_outcome: DeliveryRecord['outcome'] | null;
  /** Error of the held delivery, or else of the last finished delivery; null if neither has one. */
  readonly last_error: string | null;
  /** Present if the webhook is paused because its receiver answered 410. */
  readonly paused_by?: 'receiver' | undefined;
  /** Number of dropped events that can be delivered again; absent if there are none. */
  readonly dropped?: number | undefined;
}

export function webhookSummary(
  { id, url }: Pick<StoredWebhook, 'id' | 'url'>,
  status: WebhookStatus,
  last: DeliveryRecord | undefined,
): WebhookSummary {
  const { name, state, consecutive_failures, last_success_at, held, dropped } = status;
  return {
    id,
    ...(name !== null && { name }),
    origin: new URL(url).origin,
    state,
    consecutive_failures,
    last_success_at,
    last_outcome: last?.outcome ?? null,
    last_error: held?.error ?? last?.error ?? null,
    ...(state === 'paused' && held?.gone === true && { paused_by: 'receiver' as const }),
    ...(dropped > 0 && { dropped }),
  };
}

/** Returns the webhook's name; without a name, the origin of its URL without `https://`. */
export function webhookLabel({ name, origin }: Pick<WebhookSummary, 'name' | 'origin'>): string {
  return name ?? origin.replace(/^https?:\/\//, '');
}

/** Reports whether events wait for the webhook, because deliveries to it fail. */
export function isBehind({ state }: Pick<WebhookSummary, 'state'>): boolean {
  return state === 'failing' || state === 'held';
}

/** Returns a warning for each webhook that has dropped events. */
export function droppedWarnings(webhooks: readonly WebhookSummary[]): readonly StatusWarning[] {
  return webhooks.flatMap((webhook) => {
    const { id, dropped: count = 0 } = webhook;
    if (count === 0) return [];
    const [events, what] = count === 1 ? ['event', 'it'] : ['events', 'them'];
    return {
      code: 'webhook_dropped',
      tone: 'bad' as const,
      title: `${webhookLabel(webhook)} has dropped ${count.toLocaleString('en-US')} ${events}`,
      text: `To deliver ${what} again: "postern webhooks replay ${id.slice(0, 8)} --dropped".`,
      webhook: id,
    };
  });
}

/** A contributor to the status and the health of the service. */
export interface InStatus {
  /** Its member of the status; undefined omits it. */
  status?(): object | true | undefined;
  /**
   * Returns what is wrong, for health, the menu, `problems` and the first line of the status. A plain sentence is only
   * shown by health.
   */
  warning?(): StatusWarning | string | undefined;
}

/** A Mac, as a hub sees it. */
export interface HubMac {
  readonly id: string;
  readonly state: 'present' | 'away';
  /** The path at which the API of this Mac begins. */
  readonly path: string;
  /** The machines that are this Mac; the one that is asked comes first. */
  readonly machines: readonly HubMachine[];
}

/** A machine of a Mac, as it last reported itself. */
export interface HubMachine {
  readonly machine: string;
  readonly state: 'present' | 'away';
  readonly name: string;
  readonly version: string;
  /** When this hub last heard from the machine. */
  readonly heard_at: string;
  readonly newest_row: number;
  /** Number of rows that it has not published yet, at most. */
  readonly behind: number;
  /** Number of rows that were too old for an event when they could be published. */
  readonly rows_without_event: number;
  readonly problem: string | null;
}

/** A problem that the service noticed since it started. */
export interface StatusProblem {
  readonly code: string;
  /** When the service noticed the problem. */
  readonly since: string;
  /** When the service noticed that the problem was gone; null while it lasts. */
  readonly until: string | null;
  /** Name or origin of the webhook that has the problem; null if the problem concerns no webhook. */
  readonly subject: string | null;
  /** The reason, or what to do; null if neither is known. */
  readonly hint: string | null;
}

/** Answer of `GET /api/v1/status` (decision H). */
export interface StatusReport {
  readonly version: string;
  /** Present only in a demo, where clients can control the simulated people. */
  readonly demo?: true | undefined;
  /** The service's URL. Present only in answers over the Unix socket. */
  readonly url?: string | undefined;
  /** How a person runs a command with this service. Only for the owner. */
  readonly cli?: CommandWords | undefined;
  /** Whole seconds since the service started. */
  readonly uptime_s: number;
  readonly backend: BackendHealth;
  /** Highest row id in chat.db; null while chat.db is unreadable. */
  readonly newest_row: number | null;
  /** The last published event; `age_s` is null if it was published before the service started. */
  readonly newest_event: {
    readonly row_id: number;
    readonly age_s: number | null;
    /** Only at a hub: the event's offset. `row_id` is 0 there. */
    readonly offset?: string | undefined;
    /** Only at a hub: an offset some events before that one, to read the newest events. */
    readonly earlier?: string | undefined;
  };
  /** The operations that the service has. */
  readonly operations?: readonly string[] | undefined;
  /** Only at a hub: its Macs, sorted by id. */
  readonly macs?: readonly HubMac[] | undefined;
  readonly webhooks: readonly WebhookSummary[];
  /** Number of sends that wait for the owner's decision. Only for the owner, once there are limited keys. */
  readonly held_sends?: number | undefined;
  /**
   * The last known state of each permission. A request for the status checks no permission, because a check may make
   * macOS prompt the user.
   */
  readonly permissions: readonly PermissionReport[];
  /** How long Messages took for the newest call that it answered. Absent before the first answer, and at a hub. */
  readonly messages?: MessagesAnswer | undefined;
  /** Absent until Messages has said which accounts it has, and at a hub. */
  readonly messages_account?: MessagesAccount | undefined;
  /** Absent before the first incoming iMessage since the start, and at a hub. */
  readonly arrival_delay?: ArrivalDelay | undefined;
  /** Problems since the service started, newest first. Only for the owner; absent at a hub. */
  readonly problems?: readonly StatusProblem[] | undefined;
  /** The abilities of the service. Absent at a hub. */
  readonly capabilities?: Capabilities | undefined;
  /** The problems that features and webhooks report. Absent if there are none. */
  readonly warnings?: readonly StatusWarning[] | undefined;
}

/** Answer of `POST /api/v1/permissions/check`: the permissions as the service's process has just found them. */
export interface PermissionsAnswer {
  readonly permissions: readonly PermissionReport[];
}

/** Something that a feature or a webhook reports as wrong. */
export interface StatusWarning {
  /** Stable code, as in `problems`. */
  readonly code: string;
  readonly text: string;
  /** `bad` if messages may be lost or cannot be sent. */
  readonly tone: 'warn' | 'bad';
  /** The warning in a few words, for a title. */
  readonly title: string;
  /** The end of a sentence that begins with `Messages work;`, for a warning that the verdict names. */
  readonly clause?: string | undefined;
  /** The line of the menu; default: the title. */
  readonly menu?: string | undefined;
  /** The id of the webhook that the warning is about; absent if it is about none. */
  readonly webhook?: string | undefined;
}
