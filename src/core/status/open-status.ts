import { errorCode } from '../model/errors.ts';
import { isoSecond } from '../model/iso-second.ts';
import type { MessageLog } from '../model/ports/feed-ports.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { PermissionReport, Permissions } from '../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../model/ports/reading-ports.ts';
import {
  droppedWarnings,
  type InStatus,
  type StatusReport,
  type StatusWarning,
  webhookSummary,
} from '../model/status.ts';
import type { DeliveryRecord, StoredWebhook, WebhookStatus } from '../model/webhook.ts';
import type { Cleanup } from '../runtime/cleanup.ts';
import { ProblemLog, problemsIn } from './problem-log.ts';

export interface StatusParts {
  readonly version: string;
  readonly clock: Clock;
  /** Reports whether chat.db is readable. */
  readonly database: { health(): BackendHealth };
  readonly messages: Pick<MessageLog, 'newest'>;
  readonly publisher: { readonly lastPublished: { readonly rowId: number; readonly atMs: number | undefined } };
  readonly webhooks: {
    list(): readonly StoredWebhook[];
    status(id: string): WebhookStatus;
    lastDelivery(id: string): DeliveryRecord | undefined;
  };
  readonly permissions: Permissions;
  /** Returns what this service can do. */
  readonly abilities: () => Pick<StatusReport, 'capabilities' | 'operations'>;
  /** Returns, by name, what has a member of the status or a warning. Health shows the first warning. */
  readonly members: () => readonly (readonly [name: string, one: InStatus])[];
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
export function openStatus(parts: StatusParts, closers: Cleanup, log: Log): Status {
  const status = new Status(parts);
  let cancel: Cancel | undefined;
  const look = (): void => {
    cancel = parts.clock.after(LOOK_EVERY_MS, () => {
      look();
      try {
        status.report();
      } catch (error) {
        log.warn('could not look for problems', { code: errorCode(error) });
      }
    });
  };
  look();
  closers.add('status', () => cancel?.());
  return status;
}

/** Health and status of the service (decision H). Reading them never makes macOS prompt the user. */
export class Status {
  readonly #parts: StatusParts;
  readonly #startedAtMs: number;
  readonly #problems = new ProblemLog();

  constructor(parts: StatusParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  health(): BackendHealth {
    return this.#health(this.#warnings());
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
    const { version, clock, publisher, webhooks, permissions, abilities, members } = this.#parts;
    const summaries = webhooks
      .list()
      .map((webhook) => webhookSummary(webhook, webhooks.status(webhook.id), webhooks.lastDelivery(webhook.id)));
    const all = this.#warnings();
    const warnings = [...all.filter((one) => typeof one !== 'string'), ...droppedWarnings(summaries)];
    const nowMs = clock.monotonic();
    const { rowId, atMs } = publisher.lastPublished;
    return {
      version,
      uptime_s: Math.floor((nowMs - this.#startedAtMs) / 1000),
      backend: this.#health(all),
      newest_row: this.newestRow(),
      newest_event: { row_id: rowId, age_s: atMs === undefined ? null : Math.floor((nowMs - atMs) / 1000) },
      webhooks: summaries,
      permissions: permissions.known,
      ...(permissions.answer && { messages: permissions.answer }),
      ...abilities(),
      ...Object.fromEntries(
        members().flatMap(([name, one]) => {
          const member = one.status?.();
          return member === undefined ? [] : [[name, member]];
        }),
      ),
      ...(warnings.length > 0 && { warnings }),
    };
  }

  #health(warnings: readonly (StatusWarning | string)[]): BackendHealth {
    const backend = this.#parts.database.health();
    const [first] = warnings;
    if (!backend.connected || backend.message !== null || first === undefined) return backend;
    return { ...backend, message: typeof first === 'string' ? first : first.text };
  }

  #warnings(): readonly (StatusWarning | string)[] {
    return this.#parts.members().flatMap(([, one]) => one.warning?.() ?? []);
  }

  /** Checks this process's permissions. The check may make macOS prompt the user. */
  async checkPermissions(): Promise<readonly PermissionReport[]> {
    const { permissions } = this.#parts;
    const disk = await permissions.fullDiskAccess();
    return [disk, disk.state === 'denied' ? AFTER_DISK : await permissions.automation()];
  }
}
