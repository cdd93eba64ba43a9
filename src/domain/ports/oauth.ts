import type { Caller } from '../caller.ts';

/** A request to the authorization server at the issuer's host (decision Y5). */
export interface OAuthRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The fields of a form; undefined for other requests. */
  readonly form: URLSearchParams | undefined;
  /** The parsed JSON of a registration. */
  readonly json: unknown;
}

/** Its answer: JSON, a page, or a redirect. */
export interface OAuthAnswer {
  readonly status: number;
  readonly json?: object;
  readonly page?: string;
  /** The Content-Security-Policy of the page. */
  readonly policy?: string;
  readonly location?: string;
}

export interface OAuthService {
  /** Undefined for a path that does not exist. */
  answer(request: OAuthRequest): Promise<OAuthAnswer | undefined>;
  /** Returns the caller with this access token; undefined if it is unknown, has expired or its key was revoked. */
  find(accessToken: string): Caller | undefined;
}

/** A program that registered itself. */
export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/** The grant of a client: a limited key, and the hashes of the tokens that stand for it. */
export interface OAuthGrant {
  readonly keyId: string;
  readonly clientId: string;
  readonly scope: string;
  readonly accessHash: string;
  readonly accessUntilMs: number;
  /** Empty until the code is redeemed, as is `accessHash`; `accessUntilMs` is then the end of the code. */
  readonly refreshHash: string;
  /** The part that all refresh tokens of this grant share: a spent one shows that two programs have them. */
  readonly familyHash: string;
}

export interface OAuthStore {
  client(id: string): OAuthClient | undefined;
  /** Adds a client. Above `max`, forgets the oldest without a grant; returns false if all have one. */
  addClient(client: OAuthClient, nowMs: number, max: number): boolean;
  /** Adds a grant, or replaces its tokens. */
  saveGrant(grant: OAuthGrant): void;
  grantOfAccess(hash: string): OAuthGrant | undefined;
  grantOfRefresh(hash: string): OAuthGrant | undefined;
  grantOfFamily(hash: string): OAuthGrant | undefined;
  /** Returns the keys of codes that ended before anybody redeemed them. */
  unredeemed(nowMs: number): readonly string[];
  removeGrant(keyId: string): void;
}
