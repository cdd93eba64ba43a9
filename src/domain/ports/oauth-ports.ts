import type { Caller } from '../caller.ts';

/** A request to the authorization server at the issuer's host (decision Y5). */
export interface OAuthRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The fields of a posted form; undefined for other requests. */
  readonly form: URLSearchParams | undefined;
  /** The parsed JSON of a registration. */
  readonly json: unknown;
}

/** The answer: JSON, a page, or a redirect. */
export interface OAuthAnswer {
  readonly status: number;
  readonly json?: object;
  readonly page?: string;
  /** The Content-Security-Policy of the page. */
  readonly policy?: string;
  readonly location?: string;
}

export interface OAuthService {
  /** Resolves to undefined for an unknown path. */
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
  /**
   * Empty until the code is redeemed, like `accessHash`. Until then `accessUntilMs` is the time when the code expires.
   */
  readonly refreshHash: string;
  /**
   * The hash of the part that all refresh tokens of this grant share. If a used token is presented again, two programs
   * hold the grant.
   */
  readonly familyHash: string;
}

export interface OAuthStore {
  client(id: string): OAuthClient | undefined;
  /**
   * Adds a client. Above `max`, removes the oldest client without a grant; returns false if every client has a grant.
   */
  addClient(client: OAuthClient, nowMs: number, max: number): boolean;
  /** Adds a grant, or replaces its tokens. */
  saveGrant(grant: OAuthGrant): void;
  grantOfAccess(hash: string): OAuthGrant | undefined;
  grantOfRefresh(hash: string): OAuthGrant | undefined;
  grantOfFamily(hash: string): OAuthGrant | undefined;
  /** Returns the ids of the limited keys whose code expired before it was redeemed. */
  unredeemed(nowMs: number): readonly string[];
  removeGrant(keyId: string): void;
}
