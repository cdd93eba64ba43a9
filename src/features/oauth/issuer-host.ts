import type { IncomingMessage } from 'node:http';
import type { AccessControl } from '../../core/http/access-control.ts';
import type { Answer } from '../../core/http/answer.ts';
import { MAX_FORM_BYTES, readJson, readUrlEncoded } from '../../core/http/body.ts';
import type { Exchange } from '../../core/http/exchange.ts';
import { KeylessRequests } from '../../core/http/keyless-requests.ts';
import { isUninvited, sourceBySite } from '../../core/http/origin-policy.ts';
import { RateLimit } from '../../core/http/rate-limit.ts';
import type { OtherHost } from '../../core/http/server.ts';
import { AppError, isAppError } from '../../core/model/errors.ts';
import { problem } from '../../core/model/problems.ts';
import type { McpCalls } from '../mcp/port.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import type { OAuthAnswer } from './ports.ts';

const TOKEN = /^Bearer +([\w-]{1,200}) *$/i;
const PATHS: ReadonlySet<string> = new Set([
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server',
  '/oauth/authorize',
  '/oauth/token',
  '/oauth/register',
  '/oauth/revoke',
]);

export interface IssuerHostParts {
  /** The setting `oauth.issuer`: the https origin at which a tunnel makes `/mcp` reachable from the internet. */
  readonly issuer: string;
  readonly oauth: AuthorizationServer;
  readonly rateLimitPerMinute: number;
  readonly mcp: McpCalls;
}

/**
 * Answers the requests whose Host is the issuer's. They come from the internet (decision Y5). Serves only `/mcp` with
 * an access token, and the metadata and endpoints of OAuth.
 */
export class IssuerHost implements OtherHost {
  readonly #parts: IssuerHostParts;
  readonly #hostname: string;
  readonly #limit: RateLimit;
  readonly #keyless = new KeylessRequests();

  constructor(parts: IssuerHostParts) {
    this.#parts = parts;
    this.#hostname = new URL(parts.issuer).hostname;
    // Requests without a valid token have their own rate limit, so that strangers cannot use up the limit that the
    // owner and programs share.
    this.#limit = new RateLimit(Math.max(1, Math.floor(parts.rateLimitPerMinute / 2)));
  }

  /**
   * Reports whether a request's Host is the issuer's name. Ignores the port in the Host: otherwise a stranger could add
   * a port, and the request would be handled like one from this machine. For the same reason, the Host header counts
   * even if a target in absolute form names another host. Ignores headers such as Forwarded.
   */
  isFor({ headers: { host = '' }, rawHeaders }: IncomingMessage): boolean {
    const written = rawHeaders.filter((_, index) => /^host$/i.test(rawHeaders[index - 1] ?? '') && index % 2 === 1);
    return [host, ...written].some(
      (one) => one.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '') === this.#hostname,
    );
  }

  async receive(exchange: Exchange, access: AccessControl): Promise<void> {
    try {
      exchange.send(await this.#answer(exchange, access));
    } catch (error) {
      exchange.fail(error);
    }
  }

  async #answer(exchange: Exchange, access: AccessControl): Promise<Answer> {
    const { path, headers, request } = exchange;
    const { issuer, oauth } = this.#parts;
    const isMcp = path === '/mcp';
    const token = isMcp ? TOKEN.exec(exchange.header('authorization') ?? '')?.[1] : undefined;
    const caller = token === undefined ? undefined : oauth.find(token);
    const refusal = caller === undefined ? this.#keyless.take(exchange) : undefined;
    if (refusal !== undefined) throw refusal;
    const { origin } = request.headers;
    if (origin !== undefined && origin !== issuer) throw problem('origin_not_allowed');
    const isOpenPage = path === '/oauth/authorize' && exchange.method === 'GET';
    if (isUninvited(sourceBySite(request), isOpenPage)) throw problem('origin_not_allowed');
    // Requests for unknown paths are not counted, because vulnerability scanners send many (decisions S3 and Y5).
    if (!isMcp && !PATHS.has(path)) throw problem('not_found');
    exchange.route = path;
    if (caller === undefined) await this.#limit.count(headers);
    else await access.admitToken(exchange, caller);
    if (!isMcp) return this.#oauth(exchange);
    if (caller === undefined) throw unauthorized(issuer, token !== undefined);
    return this.#mcp(exchange);
  }

  async #mcp(exchange: Exchange): Promise<Answer> {
    if (exchange.method !== 'POST') {
      throw problem('method_not_allowed', { methods: 'POST' }, { headers: { Allow: 'POST' } });
    }
    return this.#parts.mcp.call(exchange);
  }

  async #oauth(exchange: Exchange): Promise<Answer> {
    const { method, path, rawQuery, request } = exchange;
    const isPost = method === 'POST';
    const isRegistration = isPost && path === '/oauth/register';
    const given: { json?: unknown; form?: URLSearchParams } = {};
    try {
      if (isRegistration) given.json = await readJson(request, MAX_FORM_BYTES);
      else if (isPost) given.form = await readUrlEncoded(request);
    } catch (error) {
      if (!isAppError(error)) throw error;
      // The errors of RFC 7591, 3.2.2, and RFC 6749, 5.2.
      const code = isRegistration ? 'invalid_client_metadata' : 'invalid_request';
      const status = error.status === 413 ? 413 : 400;
      return answerOf({ status, json: { error: code, error_description: error.message } });
    }
    const query = new URLSearchParams(rawQuery);
    const answer = await this.#parts.oauth.answer({ method, path, query, ...given });
    if (answer === undefined) throw problem('not_found');
    return answerOf(answer);
  }
}

function unauthorized(issuer: string, hasToken: boolean): AppError {
  const metadata = `${issuer}/.well-known/oauth-protected-resource/mcp`;
  const error = hasToken ? ', error="invalid_token"' : '';
  const challenge = `Bearer resource_metadata="${metadata}", scope="read events"${error}`;
  return new AppError('unauthorized', 'The access token is missing, wrong or expired, or its key was revoked.', {
    status: 401,
    hint: 'Sign in again: the WWW-Authenticate header says where. Keys are not accepted at this address.',
    headers: { 'WWW-Authenticate': challenge },
  });
}

function answerOf({ status, json, page, policy = "default-src 'none'", location }: OAuthAnswer): Answer {
  const headers = {
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'DENY',
    // With `no-referrer`, a browser would post the consent page's form with `Origin: null`, which `#answer` refuses.
    'Referrer-Policy': 'same-origin',
    ...(location !== undefined && { Location: location }),
  };
  if (page !== undefined) return { status, content: { type: 'text/html; charset=utf-8', text: page }, headers };
  return { status, ...(json !== undefined && { body: json }), headers };
}
