import { randomBytes } from 'node:crypto';
import type { KeyRecord } from '../../client/key-types.ts';
import { isAppError } from '../../core/model/errors.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { visible } from '../../core/model/visible.ts';
import { WrongKeyDelay } from '../../core/runtime/wrong-key-delay.ts';
import type { KeyRing } from '../access/port.ts';
import { isOwnScheme } from './clients.ts';
import { CONSENT_PRESETS, consentPage, deniedPage, pagePolicy, refusalPage } from './consent-page.ts';
import type { OAuthAnswer, OAuthClient } from './ports.ts';
import type { OAuthTokens } from './tokens.ts';

const MAX_OPEN = 20;
const OPEN_MS = 10 * 60_000;
/** Maximum number of wrong keys for one consent. */
const MAX_WRONG = 5;
const MAX_PEOPLE = 200;
const MAX_NAME = 64;
const SCOPES = { reader: 'read events', assistant: 'read events send' } as const;

interface ConsentsParts {
  readonly clock: Clock;
  readonly issuer: string;
  readonly tokens: OAuthTokens;
  readonly isOwnerKey: (key: string) => boolean;
  readonly keys: Pick<KeyRing, 'add'>;
}

/** A program's request for access. */
interface Authorization {
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly state: string | null;
  readonly challenge: string;
}

interface Consent extends Authorization {
  readonly id: string;
  readonly untilMs: number;
  wrong: number;
}

/** Asks the owner whether a program may have a key. */
export class OAuthConsents {
  readonly #parts: ConsentsParts;
  readonly #open = new Map<string, Consent>();
  readonly #wrongKeys: WrongKeyDelay;

  constructor(parts: ConsentsParts) {
    this.#parts = parts;
    this.#wrongKeys = new WrongKeyDelay(parts.clock);
  }

  /**
   * Returns the consent page for a program's request. If 20 requests are already waiting for the owner, drops the
   * oldest.
   */
  ask(asked: Authorization): OAuthAnswer {
    const nowMs = this.#parts.clock.now();
    for (const { id, untilMs } of this.#open.values()) {
      if (untilMs <= nowMs || this.#open.size >= MAX_OPEN) this.#open.delete(id);
    }
    const consent = { ...asked, id: randomBytes(24).toString('base64url'), untilMs: nowMs + OPEN_MS, wrong: 0 };
    this.#open.set(consent.id, consent);
    return show(consent, { people: '', preset: 'reader', mistakes: [] });
  }

  /**
   * Handles the owner's answer. If access is allowed, creates a key and redirects to the program with a code. If it is
   * denied, redirects with `access_denied`, but only to a web address. After a mistake, shows the page again.
   */
  async decide(form: URLSearchParams): Promise<OAuthAnswer> {
    const consent = this.#open.get(form.get('consent') ?? '');
    if (consent === undefined || consent.untilMs <= this.#parts.clock.now()) {
      return refused('This page has expired. Begin again in the program.');
    }
    const { redirectUri, state, client } = consent;
    if (form.get('decision') !== 'allow') {
      this.#open.delete(consent.id);
      // Any other scheme would start a program on the computer, for a request that the owner has refused.
      if (isOwnScheme(redirectUri)) return { status: 200, page: deniedPage(), policy: pagePolicy() };
      return this.#back(redirectUri, { error: 'access_denied', state });
    }
    const preset = CONSENT_PRESETS.find((one) => one === form.get('preset')) ?? 'reader';
    const people = form.get('people') ?? '';
    if (!this.#parts.isOwnerKey(form.get('key') ?? '')) return this.#wrongKey(consent, people, preset);
    // The request is deleted before the first await, so that two clicks create only one key.
    this.#open.delete(consent.id);
    const made = await this.#newKey(client, people, preset);
    if (!('id' in made)) {
      this.#open.set(consent.id, consent);
      return show(consent, { people, preset, mistakes: made.mistakes });
    }
    const terms = { clientId: client.id, redirectUri, challenge: consent.challenge };
    const code = this.#parts.tokens.newCode({ ...terms, keyId: made.id, scope: SCOPES[preset] });
    return this.#back(redirectUri, { code, state });
  }

  /** Redirects back to the program. Adds the issuer's name, which protects against mix-ups of servers (RFC 9207). */
  #back(redirectUri: string, result: Readonly<Record<string, string | null>>): OAuthAnswer {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries({ ...result, iss: this.#parts.issuer })) {
      if (value !== null) url.searchParams.set(name, value);
    }
    return { status: 303, location: url.href };
  }

  async #newKey(
    client: OAuthClient,
    people: string,
    preset: (typeof CONSENT_PRESETS)[number],
  ): Promise<KeyRecord | { readonly mistakes: readonly string[] }> {
    const list = people
      .split(/[\n,]/)
      .map((one) => one.trim())
      .filter((one) => one !== '');
    if (list.length === 0) return { mistakes: ['Name at least one person, or * for everybody.'] };
    if (list.length > MAX_PEOPLE) return { mistakes: [`Name at most ${MAX_PEOPLE} people. There are ${list.length}.`] };
    const read = list.length === 1 && list[0] === '*' ? ('*' as const) : list;
    const name = [...visible(client.name.replaceAll(/\s/g, ' '))].slice(0, MAX_NAME).join('');
    try {
      const settings = { read, ...(preset === 'assistant' && { send: read }), approval: 'always' } as const;
      return this.#parts.keys.add({ name, preset, scopes: undefined, settings });
    } catch (error) {
      if (!isAppError(error) || error.status >= 500) throw error;
      const mistakes = error.mistakes.map(
        ({ pointer, message }) => `${list[Number(pointer.split('/')[2])] ?? ''}: ${message}`,
      );
      return { mistakes: mistakes.length > 0 ? [...new Set(mistakes)] : [error.message] };
    }
  }

  async #wrongKey(consent: Consent, people: string, preset: string): Promise<OAuthAnswer> {
    consent.wrong += 1;
    // After the last permitted attempt, the request is deleted before the delay, so that no other key can be tried
    // during the delay.
    const isLast = consent.wrong >= MAX_WRONG;
    if (isLast) this.#open.delete(consent.id);
    await this.#wrongKeys.wait();
    if (isLast) return refused('The key was wrong too often. Begin again in the program.');
    return { ...show(consent, { people, preset, mistakes: ['This is not your key.'] }), status: 401 };
  }
}

/** Returns a page that says why access is refused, without a redirect. */
export function refused(sentence: string): OAuthAnswer {
  return { status: 400, page: refusalPage(sentence), policy: pagePolicy() };
}

function show(consent: Consent, entered: Parameters<typeof consentPage>[1]): OAuthAnswer {
  const { id, client, redirectUri } = consent;
  const asked = { id, clientName: client.name, clientId: client.id, redirectUri };
  return { status: 200, page: consentPage(asked, entered), policy: pagePolicy(redirectUri) };
}
