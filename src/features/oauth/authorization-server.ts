import type { Caller } from '../../core/model/caller.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { KeyRing } from '../access/port.ts';
import { isRedirectOf, OAuthClients } from './clients.ts';
import { OAuthConsents, refused } from './consents.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthAnswer, OAuthRequest, OAuthStore } from './ports.ts';
import { OAuthTokens } from './tokens.ts';

const SCOPES = ['read', 'events', 'send'];
const MAX_STATE = 2000;

export interface AuthorizationServerParts {
  /** The https origin at which hosted agents reach this service. */
  readonly issuer: string;
  readonly clock: Clock;
  readonly store: OAuthStore;
  readonly isOwnerKey: (key: string) => boolean;
  readonly keys: Pick<KeyRing, 'add'>;
  readonly revoke: (keyId: string) => Promise<void>;
  readonly callerOf: (keyId: string) => Caller | undefined;
  readonly readDocument: (url: URL) => Promise<unknown>;
}

/** OAuth 2.1 for `/mcp` (decision Y5). The owner's consent creates a limited key, and the tokens stand for that key. */
export class AuthorizationServer {
  readonly #issuer: string;
  readonly #clients: OAuthClients;
  readonly #tokens: OAuthTokens;
  readonly #consents: OAuthConsents;

  constructor(parts: AuthorizationServerParts) {
    this.#issuer = parts.issuer;
    this.#clients = new OAuthClients(parts);
    this.#tokens = new OAuthTokens({ ...parts, resource: this.#resource });
    this.#consents = new OAuthConsents({ ...parts, tokens: this.#tokens });
  }

  /**
   * Returns the caller with this access token; undefined if the token is unknown or has expired, or its key was
   * revoked.
   */
  find(accessToken: string): Caller | undefined {
    return this.#tokens.find(accessToken);
  }

  /** Answers a request. Resolves to undefined for an unknown path. */
  async answer(request: OAuthRequest): Promise<OAuthAnswer | undefined> {
    const { method, path, query, form } = request;
    try {
      if (form !== undefined) assertOnce(form);
      const isMetadata = method === 'HEAD' && path.startsWith('/.well-known/');
      if (method === 'GET' || isMetadata) return await this.#get(path, query);
      if (method !== 'POST') return undefined;
      if (path === '/oauth/register') return { status: 201, json: this.#clients.register(request.json) };
      if (form === undefined) return undefined;
      if (path === '/oauth/authorize') return await this.#consents.decide(form);
      if (path === '/oauth/token') return { status: 200, json: await this.#exchange(form) };
      if (path !== '/oauth/revoke') return undefined;
      await this.#tokens.revoke(form.get('token'));
      return { status: 200, json: {} };
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      if (path === '/oauth/authorize') return refused(error.message);
      return { status: error.status, json: { error: error.code, error_description: error.message } };
    }
  }

  /**
   * Exchanges a code or a refresh token. Answers an unknown client with `invalid_client`, because clients register
   * again only then.
   */
  async #exchange(form: URLSearchParams): Promise<object> {
    try {
      return await this.#tokens.exchange(form);
    } catch (error) {
      // Not checked before, because a code that comes with the wrong client must revoke its key.
      if (error instanceof OAuthError) this.#clients.assertKnown(form.get('client_id') ?? '');
      throw error;
    }
  }

  async #get(path: string, query: URLSearchParams): Promise<OAuthAnswer | undefined> {
    switch (path) {
      case '/.well-known/oauth-protected-resource':
      case '/.well-known/oauth-protected-resource/mcp':
        return { status: 200, json: this.#resourceMetadata() };
      case '/.well-known/oauth-authorization-server':
        return { status: 200, json: this.#serverMetadata() };
      case '/oauth/authorize':
        return this.#authorize(query);
      default:
        return undefined;
    }
  }

  /**
   * Shows the consent page, or a page that says why access is refused. Never redirects before the owner has decided,
   * because anybody can register a redirect address (RFC 9700, 4.11.2).
   */
  async #authorize(query: URLSearchParams): Promise<OAuthAnswer> {
    assertOnce(query);
    await this.#tokens.endUnredeemed();
    const client = await this.#clients.find(query.get('client_id') ?? '');
    const [only = '', ...others] = client.redirectUris;
    const redirectUri = query.get('redirect_uri') || (others.length === 0 ? only : '');
    if (!isRedirectOf(client, redirectUri)) {
      return refused('The program wants the answer at an address that it has not registered.');
    }
    const state = query.get('state');
    if ((state?.length ?? 0) > MAX_STATE) return refused('`state` is too long.');
    if (query.get('response_type') !== 'code') return refused('`response_type` must be `code`.');
    const challenge = query.get('code_challenge') ?? '';
    if (query.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
      return refused('A `code_challenge` with the `code_challenge_method` S256 is required.');
    }
    const resource = query.get('resource');
    if (resource !== null && resource !== this.#resource) {
      return refused(`\`resource\` must be ${this.#resource}.`);
    }
    return this.#consents.ask({ client, redirectUri, state, challenge });
  }

  get #resource(): string {
    return `${this.#issuer}/mcp`;
  }

  #resourceMetadata(): object {
    return {
      resource: this.#resource,
      resource_name: 'Postern',
      authorization_servers: [this.#issuer],
      scopes_supported: SCOPES,
      bearer_methods_supported: ['header'],
    };
  }

  #serverMetadata(): object {
    const at = `${this.#issuer}/oauth`;
    return {
      issuer: this.#issuer,
      authorization_endpoint: `${at}/authorize`,
      token_endpoint: `${at}/token`,
      registration_endpoint: `${at}/register`,
      revocation_endpoint: `${at}/revoke`,
      scopes_supported: SCOPES,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    };
  }
}

/** Throws an OAuthError for a repeated parameter (RFC 6749, 3.1 and 3.2). */
function assertOnce(given: URLSearchParams): void {
  if (new Set(given.keys()).size < given.size) {
    throw new OAuthError('invalid_request', 'A parameter occurs twice in the request.');
  }
}
