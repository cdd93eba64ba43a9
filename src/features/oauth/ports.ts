/** A request to Postern's OAuth authorization server, at the host of `oauth.issuer` (decision Y5). */
export interface OAuthRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The fields of a posted form; undefined for other requests. */
  readonly form?: URLSearchParams;
  /** The parsed JSON body of a request that registers a client. */
  readonly json?: unknown;
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

/** A program that registered itself. */
export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/**
 * The access that the owner granted to a client: a limited key, and the hashes of the tokens that stand for the key.
 */
export interface OAuthGrant {
  readonly keyId: string;
  readonly clientId: string;
  readonly scope: string;
  readonly accessHash: string;
  readonly accessUntilMs: number;
  /**
   * `refreshHash` and `accessHash` are "" until the client redeems its authorization code. Until then, `accessUntilMs`
   * is the time when the code expires.
   */
  readonly refreshHash: string;
  /**
   * The hash of the part that all refresh tokens of this grant share. Through it, a refresh token that was already
   * replaced still identifies its grant. If a replaced token is used, two programs hold the grant's tokens.
   */
  readonly familyHash: string;
}

export interface OAuthStore {
  client(id: string): OAuthClient | undefined;
  /**
   * Adds a client. If `max` clients exist already, first removes the oldest client without a grant; returns false if
   * every client has a grant.
   */
  addClient(client: OAuthClient, nowMs: number, max: number): boolean;
  /** Adds a grant, or replaces its tokens. */
  saveGrant(grant: OAuthGrant): void;
  grantOfAccess(hash: string): OAuthGrant | undefined;
  grantOfRefresh(hash: string): OAuthGrant | undefined;
  grantOfFamily(hash: string): OAuthGrant | undefined;
  /** Returns the ids of limited keys whose client did not redeem its authorization code before the code expired. */
  unredeemed(nowMs: number): readonly string[];
  removeGrant(keyId: string): void;
}
