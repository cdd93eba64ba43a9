import { isBehind, type StatusProblem, type StatusReport } from '../model/status.ts';

/** A problem that exists now. */
export interface CurrentProblem extends Pick<StatusProblem, 'code' | 'subject' | 'hint'> {
  /**
   * Distinguishes problems that have the same code. The key of a webhook's problem is the webhook's id. The key does
   * not change while the problem lasts.
   */
  readonly key?: string | undefined;
}

/** Maximum number of problems that are kept after they have ended. */
const ENDED_KEPT = 20;

type Kept = { -readonly [Member in keyof StatusProblem]: StatusProblem[Member] } & { readonly key: string };

/** Remembers the current problems, and the newest `ENDED_KEPT` that have ended. */
export class ProblemLog {
  /** Newest first. */
  #kept: readonly Kept[] = [];

  /** Records the current problems, and marks all others as ended. */
  note(current: readonly CurrentProblem[], now: string): void {
    const open = new Map(this.#kept.filter(({ until }) => until === null).map((one) => [one.key, one]));
    const begun: Kept[] = [];
    for (const { key: name = '', ...problem } of current) {
      const key = `${problem.code} ${name}`;
      const known = open.get(key);
      open.delete(key);
      if (known === undefined) begun.unshift({ ...problem, since: now, until: null, key });
      else Object.assign(known, problem);
    }
    for (const gone of open.values()) gone.until = now;
    let ended = 0;
    this.#kept = [...begun, ...this.#kept].filter(({ until }) => {
      if (until !== null) ended += 1;
      return until === null || ended <= ENDED_KEPT;
    });
  }

  /** Returns the problems, the newest first. */
  list(): readonly StatusProblem[] {
    return this.#kept.map(({ key: _key, ...problem }) => problem);
  }
}

/** Finds the current problems in a status report. */
export function problemsIn({ backend, permissions, webhooks, warnings = [] }: StatusReport): readonly CurrentProblem[] {
  const named = (code: string, hint: string | null, subject: string | null = null) => ({ code, subject, hint });
  const ofFeatures = warnings.filter(({ webhook }) => webhook === undefined);
  const others = ofFeatures.map(({ code, text }) => named(code, text));
  const dropped = warnings.flatMap(({ code, text, webhook: id }) => {
    const webhook = webhooks.find((one) => one.id === id);
    return webhook === undefined ? [] : [{ ...named(code, text, webhook.name ?? webhook.origin), key: webhook.id }];
  });
  return [
    ...(backend.connected ? [] : [named('chat_db_unavailable', backend.message)]),
    ...permissions.filter(({ state }) => state === 'denied').map(({ name, detail }) => named(`${name}_denied`, detail)),
    ...webhooks
      .filter((webhook) => isBehind(webhook) || webhook.paused_by !== undefined)
      .map(({ id, name, origin, state, last_error: error }) => ({
        ...named(`webhook_${state}`, error, name ?? origin),
        key: id,
      })),
    ...dropped,
    ...others,
    // `backend.message` is listed only if `others` is empty, because while connected it may repeat a problem in
    // `others`.
    ...(backend.connected && backend.message !== null && others.length === 0
      ? [named('warning', backend.message)]
      : []),
  ];
}
