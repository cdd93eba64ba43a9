import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../core/model/caller.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthGrant, OAuthStore } from './ports.ts';

const CODE_MS = 60_000;
const ACCESS_S = 3600;
/**
 * Matches a refresh token. The first part names the token's family: all tokens that descend from one code. The second
 * part changes at each refresh.
 */
const REFRESH = /^refresh_([\w-]{22})[\w-]{43}$/;

/** The terms on which a code may be redeemed. */
export interface CodeTerms {
  readonly clientId: string;
  readonly redirectUri: string;
  /** The S256 challenge of PKCE. */
  readonly challenge: string;
  readonly keyId: string;
  readonly scope: string;
}

interface TokensParts {
  readonly store: OAuthStore;
  readonly clock: Clock;
  /** The URL of `/mcp` at the issuer. Tokens are valid for no other resource. */
  readonly resource: string;
  readonly callerOf: (keyId: string) => Caller | undefined;
  /** Revokes a key, if it still exists. */
  readonly revoke: (keyId: string) => Promise<void>;
}

interface Code extends CodeTerms {
  readonly untilMs: number;
  isSpent: boolean;
}

/** Issues, finds and revokes codes and tokens, which are opaque and random. Stores only their hashes. */
export class OAuthTokens {
  readonly #parts: TokensParts;
  readonly #codes = new Map<string, Code>();

  constructor(parts: TokensParts) {
    this.#parts = parts;
  }

  /** Returns a code that can be exchanged once, within a minute. */
  newCode(terms: CodeTerms): string {
    const { store, clock } = this.#parts;
    const code = randomBytes(32).toString('base64url');
    const untilMs = clock.now() + CODE_MS;
    this.#codes.set(digest(code), { ...terms, untilMs, isSpent: false });
    const { keyId, clientId, scope } = terms;
    store.saveGrant({
      keyId,
      clientId,
      scope,
      accessHash: '',
      accessUntilMs: untilMs,
      refreshHash: '',
      familyHash: '',
    });
    return code;
  }

  /** Revokes the keys of codes that were not redeemed in time. Includes codes from before a restart. */
  async endUnredeemed(): Promise<void> {
    const nowMs = this.#parts.clock.now();
    for (const [key, { untilMs }] of this.#codes) if (untilMs <= nowMs) this.#codes.delete(key);
    for (const keyId of this.#parts.store.unredeemed(nowMs)) await this.#end(keyId);
  }

  find(accessToken: string): Caller | undefined {
    const grant = this.#parts.store.grantOfAccess(digest(accessToken));
    if (grant === undefined || grant.accessUntilMs <= this.#parts.clock.now()) return undefined;
    return this.#parts.callerOf(grant.keyId);
  }

  /** Exchanges a code or a refresh token for new tokens. Throws an OAuthError. */
  async exchange(form: URLSearchParams): Promise<object> {
    const resource = form.get('resource');
    if (resource !== null && resource !== this.#parts.resource) {
      throw new OAuthError('invalid_target', `\`resource\` must be ${this.#parts.resource}.`);
    }
    const type = form.get('grant_type');
    if (type === 'authorization_code') return this.#redeem(form);
    if (type === 'refresh_token') return this.#refresh(form);
    throw new OAuthError('unsupported_grant_type', '`grant_type` must be `authorization_code` or `refresh_token`.');
  }

  /**
   * Removes a token's grant, and revokes its key; also for a refresh token that was replaced since. An unknown token is
   * not an error, but none is (RFC 7009, 2). Throws an OAuthError.
   */
  async revoke(token: string | null): Promise<void> {
    if (!token) throw new OAuthError('invalid_request', '`token` is missing.');
    const { store } = this.#parts;
    const family = REFRESH.exec(token)?.[1];
    const grant = family === undefined ? store.grantOfAccess(digest(token)) : store.grantOfFamily(digest(family));
    if (grant !== undefined) await this.#end(grant.keyId);
  }

  async #redeem(form: URLSearchParams): Promise<object> {
    const code = this.#codes.get(digest(form.get('code') ?? ''));
    const wrong = new OAuthError(
      'invalid_grant',
      'The code is unknown, spent or expired, or was issued to another client.',
    );
    if (code === undefined) throw wrong;
    if (code.isSpent) {
      // A second use of a code means that somebody has stolen it, so its key is revoked (RFC 6749, 10.5).
      await this.#end(code.keyId);
      throw wrong;
    }
    code.isSpent = true;
    // OAuth 2.1 clients leave the address out, because PKCE already binds the code to them.
    const redirectUri = form.get('redirect_uri') || code.redirectUri;
    const isOwn = form.get('client_id') === code.clientId && redirectUri === code.redirectUri;
    const isTimely = this.#parts.clock.now() < code.untilMs;
    if (!isOwn || !isTimely || !isVerifier(form.get('code_verifier') ?? '', code.challenge)) {
      await this.#end(code.keyId);
      throw wrong;
    }
    return this.#issue(code);
  }

  async #refresh(form: URLSearchParams): Promise<object> {
    const { store, callerOf } = this.#parts;
    const token = form.get('refresh_token') ?? '';
    const family = REFRESH.exec(token)?.[1];
    const wrong = new OAuthError('invalid_grant', 'The refresh token is unknown or spent, or its key was revoked.');
    const grant = store.grantOfRefresh(digest(token));
    if (grant === undefined) {
      // A token whose family is known was valid once and has been replaced. Its second use means that both the client
      // and a thief have it, so its key is revoked.
      const stolen = family && store.grantOfFamily(digest(family));
      if (stolen) await this.#end(stolen.keyId);
      throw wrong;
    }
    if (form.get('client_id') !== grant.clientId) throw wrong;
    if (callerOf(grant.keyId) === undefined) {
      store.removeGrant(grant.keyId);
      throw wrong;
    }
    return this.#issue(grant, family);
  }

  #issue({ keyId, clientId, scope }: Pick<OAuthGrant, 'keyId' | 'clientId' | 'scope'>, family = newFamily()): object {
    const { store, clock } = this.#parts;
    const [access, refresh] = [`access_${newSecret()}`, `refresh_${family}${newSecret()}`];
    const hashes = { accessHash: digest(access), refreshHash: digest(refresh), familyHash: digest(family) };
    store.saveGrant({ keyId, clientId, scope, accessUntilMs: clock.now() + ACCESS_S * 1000, ...hashes });
    return { access_token: access, token_type: 'Bearer', expires_in: ACCESS_S, refresh_token: refresh, scope };
  }

  async #end(keyId: string): Promise<void> {
    this.#parts.store.removeGrant(keyId);
    await this.#parts.revoke(keyId);
  }
}

function newFamily(): string {
  return randomBytes(16).toString('base64url');
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hashes a code or a token. SHA-256 is enough, because nobody can guess these random texts by trying many of them. */
function digest(text: string): string {
  return hash('sha256', text, 'hex');
}

function isVerifier(verifier: string, challenge: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  const [one, other] = [Buffer.from(hash('sha256', verifier, 'base64url')), Buffer.from(challenge)];
  return one.length === other.length && timingSafeEqual(one, other);
}
