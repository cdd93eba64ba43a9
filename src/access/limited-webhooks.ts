import { hostAndPortOf, isOnThisMachine, mayCallBack } from '../domain/callback-hosts.ts';
import type { Clock } from '../domain/ports/host.ts';
import type { NewWebhook, ReplayFrom, WebhookChanges, WebhookRegistry } from '../domain/ports/webhooks.ts';
import { problem } from '../domain/problems.ts';
import type { StoredWebhook, WebhookSettings, WebhookTestResult } from '../domain/webhook.ts';
import { changedWebhook } from '../domain/webhook-settings.ts';

/** Limit per limited key, so that it cannot use up the owner's webhooks. */
const MAX_OWN = 8;

export interface LimitedWebhooksParts {
  readonly webhooks: WebhookRegistry;
  readonly keyId: string;
  /** The key's `callback_hosts`. */
  readonly hosts: () => readonly string[];
  readonly clock: Clock;
  readonly note: (target: string, outcome: string) => void;
}

/** The webhooks of one key. Those of others do not exist for it, and its own post only where the owner allowed. */
export class LimitedWebhooks implements WebhookRegistry {
  readonly #parts: LimitedWebhooksParts;

  constructor(parts: LimitedWebhooksParts) {
    this.#parts = parts;
  }

  list(): readonly StoredWebhook[] {
    return this.#parts.webhooks.list().filter((webhook) => this.#isOwn(webhook));
  }

  get(id: string): StoredWebhook | undefined {
    const webhook = this.#parts.webhooks.get(id);
    return webhook !== undefined && this.#isOwn(webhook) ? webhook : undefined;
  }

  async add(webhook: NewWebhook): Promise<StoredWebhook> {
    this.#assertAllowed(webhook);
    if (this.list().length >= MAX_OWN) throw problem('too_many_webhooks', { max: MAX_OWN });
    const { webhooks, keyId, note } = this.#parts;
    const added = await webhooks.add({ ...webhook, keyId });
    note(added.id, 'registered');
    this.#noteAddress(added.url);
    return added;
  }

  /** The result must be a webhook that the key could have registered. */
  async change(id: string, changes: WebhookChanges): Promise<StoredWebhook> {
    const { webhooks, clock, note } = this.#parts;
    const webhook = this.get(id);
    if (webhook === undefined) throw problem('webhook_not_found');
    this.#assertAllowed(changedWebhook(webhook, changes, clock.now()));
    const changed = await webhooks.change(id, changes);
    note(id, 'changed');
    if (hostAndPortOf(changed.url) !== hostAndPortOf(webhook.url)) this.#noteAddress(changed.url);
    return changed;
  }

  async remove(id: string): Promise<boolean> {
    if (this.get(id) === undefined) return false;
    const isRemoved = await this.#parts.webhooks.remove(id);
    if (isRemoved) this.#parts.note(id, 'removed');
    return isRemoved;
  }

  status(id: string): ReturnType<WebhookRegistry['status']> {
    return this.#parts.webhooks.status(this.#own(id));
  }

  deliveries(id: string): ReturnType<WebhookRegistry['deliveries']> {
    return this.#parts.webhooks.deliveries(this.#own(id));
  }

  lastDelivery(id: string): ReturnType<WebhookRegistry['lastDelivery']> {
    return this.#parts.webhooks.lastDelivery(this.#own(id));
  }

  /** Omits the receiver's answer: it may come from another program on this machine. */
  async test(id: string): Promise<WebhookTestResult> {
    return { ...(await this.#parts.webhooks.test(this.#own(id))), answer: null };
  }

  replay(id: string, from: ReplayFrom): ReturnType<WebhookRegistry['replay']> {
    return this.#parts.webhooks.replay(this.#own(id), from);
  }

  #own(id: string): string {
    if (this.get(id) === undefined) throw problem('webhook_not_found');
    return id;
  }

  #isOwn({ keyId }: StoredWebhook): boolean {
    return keyId === this.#parts.keyId;
  }

  /**
   * With headers of its choice, a request could impersonate another program at a service that only this machine
   * reaches.
   */
  #assertAllowed({ url, headers = {} }: Pick<WebhookSettings, 'url'> & Partial<WebhookSettings>): void {
    if (!mayCallBack(this.#parts.hosts(), url)) throw problem('webhook_not_allowed');
    if (Object.keys(headers).length > 0) throw problem('webhook_headers_not_allowed');
    const { username, password } = new URL(url);
    if (username !== '' || password !== '') throw problem('webhook_user_not_allowed');
  }

  /** Notes an address outside this machine that events now go to (decision P7). */
  #noteAddress(url: string): void {
    if (!isOnThisMachine(url)) this.#parts.note(hostAndPortOf(url), 'posts_to');
  }
}
