import { DAY_MS } from './durations.ts';
import { isoSecond } from './iso-second.ts';
import type { Offset } from './offset.ts';
import type { NewWebhook, WebhookChanges } from './ports/webhooks-ports.ts';
import { invalidRequest } from './problems.ts';
import {
  DEFAULT_SETTINGS,
  type ShownSettings,
  type StoredWebhook,
  type WebhookSettings,
  withoutPassword,
} from './webhook.ts';

/** How long the previous secret still signs after a rotation (decision P5). */
const ROTATION_MS = DAY_MS;
/** Maximum number of additional headers per webhook (decision P2). */
export const MAX_HEADERS = 10;

/** Returns a new webhook in its stored form. Deliveries begin after `start`. */
export function newStoredWebhook(id: string, webhook: NewWebhook, start: Offset, nowMs: number): StoredWebhook {
  const { keyId = null, ...settings } = webhook;
  return {
    ...DEFAULT_SETTINGS,
    ...settings,
    id,
    created_at: isoSecond(nowMs),
    previousSecret: null,
    held: null,
    keyId,
    offset: start,
  };
}

/**
 * Returns the webhook with these changes. Absent settings keep their values. If `url` is the current URL with its
 * password masked, the password stays. Throws `invalid_request` above `MAX_HEADERS`.
 */
export function changedWebhook(webhook: StoredWebhook, changes: WebhookChanges, nowMs: number): StoredWebhook {
  const { headers, url, ...others } = changes;
  return {
    ...webhook,
    ...others,
    url: url === undefined || url === withoutPassword(webhook) ? webhook.url : url,
    headers: changedHeaders(webhook.headers, headers),
    previousSecret: previousSecret(webhook, changes.secret, nowMs),
  };
}

/** Returns the settings without the secret and the values of headers (decision P1). */
export function shownSettings(webhook: StoredWebhook, nowMs: number): ShownSettings {
  const { name, enabled, on_failure, filter, include, secret, previousSecret: previous, headers } = webhook;
  const isRotating = previous !== null && previous.untilMs > nowMs;
  return {
    name,
    enabled,
    on_failure,
    filter,
    include: [...include],
    has_secret: secret !== null,
    previous_secret_until: isRotating ? isoSecond(previous.untilMs) : null,
    header_names: Object.keys(headers),
  };
}

/**
 * Returns the headers after these changes. Names are compared without case, and a value of null removes the header.
 * Throws `invalid_request` above `MAX_HEADERS`.
 */
function changedHeaders(headers: WebhookSettings['headers'], changes: WebhookChanges['headers']) {
  if (changes === undefined) return headers;
  if (changes === null) return {};
  const named = new Set(Object.keys(changes).map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !named.has(name.toLowerCase()));
  const given = Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null);
  if (kept.length + given.length > MAX_HEADERS) {
    const message = `A webhook can have at most ${MAX_HEADERS} headers. Set a header to null to remove it.`;
    throw invalidRequest([{ pointer: '/headers', message }]);
  }
  return Object.fromEntries([...kept, ...given]);
}

function previousSecret({ secret, previousSecret }: StoredWebhook, given: string | null | undefined, nowMs: number) {
  if (given === undefined || given === secret) return previousSecret;
  // No previous secret is kept if the webhook was unsigned before, or is unsigned from now on.
  if (given === null || secret === null) return null;
  return { secret, untilMs: nowMs + ROTATION_MS };
}
