import type { ArrivalDelay } from '../model/arrival-delay.ts';
import { macCapabilities } from '../model/capabilities.ts';
import { errorCode } from '../model/errors.ts';
import { isoSecond } from '../model/iso-second.ts';
import type { MessagesAccount } from '../model/messages-account.ts';
import type { MessageLog } from '../model/ports/feed-ports.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { PermissionReport, Permissions } from '../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../model/ports/reading-ports.ts';
import { droppedWarnings, type InStatus, type StatusReport, type StatusWarning, webhookSummary } from '../model/status.ts';
import type { DeliveryRecord, StoredWebhook, WebhookStatus } from '../model/webhook.ts';
import type { Cleanup } from '../runtime/cleanup.ts';
import { ProblemLog, problemsIn } from './problem-log.ts';

export interface StatusParts {
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Reports whether chat.db is readable. */
  readonly database: { health(): BackendHealth };
  /** Returns a function that reports whether the message table has a column; undefined while chat.db is unreadable. */
  readonly columns: () => ((name: string) => boolean) | undefined;
  readonly clockWatch: { warning(): string | null };
  readonly messages: MessageLog;
  readonly publisher: {
    checkLag(): string | null;
    readonly lastPublished: { readonly rowId: number; readonly atMs: number | undefined };
  };
  readonly webhooks: {
    list(): readonly StoredWebhook[];
    status(id: string): WebhookStatus;
    lastDelivery(id: string): DeliveryRecord | undefined;
  };
  readonly permissions: Permissions;
  readonly delays: { report(): ArrivalDelay | undefined; warning(): string | undefined };
  readonly messagesAccounts: { readonly account: MessagesAccount | undefined; warning(): StatusWarning | undefined };
  /** The capabilities that features have, and whether they are switched on. */
  readonly capabilities: Readonly<Record<string, boolean>>;
  /** Returns the operations of the core and of the features that run. */
  readonly operations: () => readonly string[];
  /** The features of this service. Key: the feature's name. */
  readonly running: ReadonlyMap<string, InStatus>;
}

const AFTER_DISK: PermissionReport = {
  name: 'automation',
  state: 'unknown',
  detail: 'Postern asks macOS for this permission once it has Full Disk Access.',
  reason: 'not_asked',
};

/** How often the service looks for problems while nobody asks for the status. */
const LOOK_EVERY_MS = 60_000;

/** Creates the status, and starts its regular check for problems. */
export function openStatus({ closers, ...parts }: StatusParts & { readonly closers: Cleanup }): Status {
  const status = new Status(parts);
  closers.add('status', () => status.close());
  status.start();
  return status;
}

/** Health and status of the service (decision H). Reading them never makes macOS prompt the user. */
export class Status {
  readonly #parts: StatusParts;
  readonly #startedAtMs: number;
  readonly #problems = new ProblemLog();
  #cancelLook: Cancel | undefined;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  start(): void {
    this.#cancelLook = this.#parts.clock.after(LOOK_EVERY_MS, () => {
      this.start();
      try {
        this.report();
      } catch (error) {
        this.#parts.log.warn('could not look for problems', { code: errorCode(error) });
      }
    });
  }

  close(): void {
    this.#cancelLook?.();
  }

  health(): BackendHealth {
    const { database, publisher, clockWatch } = this.#parts;
    const backend = database.health();
    if (!backend.connected) return backend;
    return {
      ...backend,
      message:
        backend.message ??
        publisher.checkLag() ??
        clockWatch.warning() ??
        this.#warnings().map((one) => (typeof one === 'string' ? one : one.text))[0] ??
        null,
    };
  }

  /** Returns the highest row id in chat.db; null while it is unreadable. */
  newestRow(): number | null {
    try {
      return this.#parts.messages.newest().offset.rowId;
    } catch {
      return null; // `backend` says why
    }
  }

  report(): StatusReport {
    const report = this.#report();
    this.#problems.note(problemsIn(report), isoSecond(this.#parts.clock.now()));
    return { ...report, problems: this.#problems.list() };
  }

  #report(): StatusReport {
    const { version, clock, publisher, webhooks, permissions } = this.#parts;
    const summaries = webhooks
      .list()
      .map((webhook) => webhookSummary(webhook, webhooks.status(webhook.id), webhooks.lastDelivery(webhook.id)));
    const ofFeatures = this.#warnings().filter((one) => typeof one !== 'string');
    const warnings = [...ofFeatures, ...droppedWarnings(summaries)];
    const { account } = this.#parts.messagesAccounts;
    const delay = this.#parts.delays.report();
    const nowMs = clock.monotonic();
    const { rowId, atMs } = publisher.lastPublished;
    return {
      version,
      uptime_s: Math.floor((nowMs - this.#startedAtMs) / 1000),
      backend: this.health(),
      newest_row: this.newestRow(),
      newest_event: { row_id: rowId, age_s: atMs === undefined ? null : Math.floor((nowMs - atMs) / 1000) },
      operations: this.#parts.operations(),
      webhooks: summaries,
      permissions: permissions.known,
      ...(permissions.answer && { messages: permissions.answer }),
      ...(account && { messages_account: account }),
      ...(delay && { arrival_delay: delay }),
      capabilities: macCapabilities({
        hasColumn: this.#parts.columns(),
        maySend: permissions.known.find(({ name }) => name === 'automation')?.state !== 'denied',
        ofFeatures: this.#parts.capabilities,
      }),
      ...this.#featureReports(),
      ...(warnings.length > 0 && { warnings }),
    };
  }

  #warnings(): readonly (StatusWarning | string)[] {
    const { messagesAccounts, delays, running } = this.#parts;
    return [messagesAccounts, ...running.values(), delays].flatMap((one) => one.warning?.() ?? []);
  }

  #featureReports(): Readonly<Record<string, object | true>> {
    const reports = [...this.#parts.running].map(([name, one]) => [name, one.status?.()] as const);
    return Object.fromEntries(reports.filter((one): one is [string, object | true] => one[1] !== undefined));
  }

  /** Checks this process's permissions. The check may make macOS prompt the user. */
  async checkPermissions(): Promise<readonly PermissionReport[]> {
    const { permissions } = this.#parts;
    const disk = await permissions.fullDiskAccess();
    return [disk, disk.state === 'denied' ? AFTER_DISK : await permissions.automation()];
  }
}
