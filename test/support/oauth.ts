import { hash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export const ISSUER = 'https://messages.example';
export const REDIRECT = 'https://agent.example/callback';

/** Stands in for a tunnel: requests to the issuer's address reach the port, with the client's Host. */
export function tunnelTo(port: number): typeof fetch {
  return async (input, init) => {
    const asked = new Request(input, init);
    const url = new URL(asked.url);
    if (url.origin !== ISSUER) throw new Error(`nobody answers at ${url.origin}`);
    const body = Buffer.from(await asked.arrayBuffer());
    const headers = { ...Object.fromEntries(asked.headers), host: url.host, 'content-length': String(body.length) };
    return new Promise((resolve, reject) => {
      const path = url.pathname + url.search;
      const request = httpRequest({ port, host: '127.0.0.1', method: asked.method, path, headers, agent: false });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [
            name,
            String(value),
          ]);
          resolve(new Response(status === 204 ? null : Buffer.concat(chunks), { status, headers: fields }));
        });
      });
      request.end(body);
    });
  };
}

/** Returns the fields of the consent page's form, including hidden ones. */
export function consentOf(page: string): string {
  return /name="consent" value="([\w-]+)"/.exec(page)?.[1] ?? '';
}

/** A person's answers on the consent page. */
export interface Owner {
  readonly key: string;
  readonly people?: string;
  readonly preset?: string;
  readonly decision?: string;
}

/** Fills in the form. Returns the answer without following it. */
export function decide(tunnel: typeof fetch, consent: string, owner: Owner): Promise<Response> {
  const { key, people = '+15550100', preset = 'assistant', decision = 'allow' } = owner;
  const body = new URLSearchParams({ consent, key, people, preset, decision });
  return tunnel(`${ISSUER}/oauth/authorize`, { method: 'POST', body, headers: { origin: ISSUER } });
}

/** What a program gets for a code. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** A program that sends every request by hand, with PKCE. */
export class OAuthProgram {
  readonly verifier = randomBytes(32).toString('base64url');
  clientId = '';
  readonly #tunnel: typeof fetch;

  constructor(tunnel: typeof fetch) {
    this.#tunnel = tunnel;
  }

  /** Returns a registered program. */
  static async registered(tunnel: typeof fetch, metadata?: object): Promise<OAuthProgram> {
    const program = new OAuthProgram(tunnel);
    const { status } = await program.register(metadata);
    if (status !== 201) throw new Error(`the registration was answered with ${status}`);
    return program;
  }

  /** Returns a program that the owner has allowed everything it asked for. */
  static async allowed(tunnel: typeof fetch, key: string): Promise<{ program: OAuthProgram; tokens: Tokens }> {
    const program = await OAuthProgram.registered(tunnel);
    const answer = await program.redeem(await program.code(key));
    if (answer.status !== 200) throw new Error(`the code was answered with ${answer.status}`);
    return { program, tokens: (await answer.json()) as Tokens };
  }

  async register(metadata: object = { client_name: 'Agent', redirect_uris: [REDIRECT] }): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    const answer = await this.#tunnel(`${ISSUER}/oauth/register`, {
      method: 'POST',
      headers,
      body: JSON.stringify(metadata),
    });
    if (answer.status === 201) this.clientId = ((await answer.clone().json()) as { client_id: string }).client_id;
    return answer;
  }

  authorize(changes: Readonly<Record<string, string>> = {}): Promise<Response> {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: REDIRECT,
      code_challenge: hash('sha256', this.verifier, 'base64url'),
      code_challenge_method: 'S256',
      state: 'a state',
      resource: `${ISSUER}/mcp`,
      ...changes,
    });
    return this.#tunnel(`${ISSUER}/oauth/authorize?${query.toString()}`);
  }

  /** Asks, lets the owner allow it, and returns where the owner is redirected. */
  async consent(owner: Owner): Promise<URL> {
    const answer = await decide(this.#tunnel, consentOf(await (await this.authorize()).text()), owner);
    return new URL(answer.headers.get('location') ?? 'about:blank');
  }

  /** Returns the code with which the owner's answer redirects to the program. */
  async code(key: string): Promise<string> {
    return (await this.consent({ key })).searchParams.get('code') ?? '';
  }

  refresh(token: string): Promise<Response> {
    return this.token({ grant_type: 'refresh_token', refresh_token: token });
  }

  token(fields: Readonly<Record<string, string>>): Promise<Response> {
    const body = new URLSearchParams({ client_id: this.clientId, ...fields });
    return this.#tunnel(`${ISSUER}/oauth/token`, { method: 'POST', body });
  }

  redeem(code: string, changes: Readonly<Record<string, string>> = {}): Promise<Response> {
    const fields = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: this.verifier };
    return this.token({ ...fields, ...changes });
  }
}

/** Asks `/mcp` for its tools with an access token. */
export function toolsWith(
  tunnel: typeof fetch,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return tunnel(`${ISSUER}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
}

/**
 * Runs the official client from the first 401 to the names of the tools; `documentUrl` is its client id if it has a
 * document.
 */
export async function officialClient(tunnel: typeof fetch, owner: Owner, documentUrl?: string) {
  const stored = new Map<string, unknown>();
  const authProvider = {
    ...(documentUrl !== undefined && { clientMetadataUrl: documentUrl }),
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'Official client', redirect_uris: [REDIRECT] },
    clientInformation: () => stored.get('client') as never,
    saveClientInformation: (client: unknown) => void stored.set('client', client),
    tokens: () => stored.get('tokens') as never,
    saveTokens: (tokens: unknown) => void stored.set('tokens', tokens),
    discoveryState: () => stored.get('discovery') as never,
    saveDiscoveryState: (discovery: unknown) => void stored.set('discovery', discovery),
    redirectToAuthorization: (url: URL) => void stored.set('location', url),
    saveCodeVerifier: (text: string) => void stored.set('verifier', text),
    codeVerifier: () => String(stored.get('verifier')),
  };
  const open = () => new StreamableHTTPClientTransport(new URL(`${ISSUER}/mcp`), { authProvider, fetch: tunnel });
  const client = () => new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const first = open();
  await client()
    .connect(first)
    .catch(() => undefined);
  const asked = stored.get('location') as URL | undefined;
  if (asked === undefined) throw new Error('the client was not sent to the consent page');
  const page = await (await tunnel(asked)).text();
  const answer = await decide(tunnel, consentOf(page), owner);
  await first.finishAuth(new URL(answer.headers.get('location') ?? '').searchParams);
  const connected = client();
  await connected.connect(open());
  const tools = (await connected.listTools()).tools.map(({ name }) => name);
  await connected.close();
  const { access_token: accessToken } = stored.get('tokens') as { readonly access_token: string };
  return { tools, page, asked, accessToken };
}
