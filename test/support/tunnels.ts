import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isPublicAddress } from '../../src/core/runtime/public-address.ts';

/** The answer of a service behind a tunnel. */
export interface Forwarded {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Forward {
  readonly to: URL;
  /** Connects to this socket; the address then only provides the Host. */
  readonly socketPath?: string | undefined;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

function forward({ to, socketPath, method = 'POST', headers = {}, body = '', signal }: Forward): Promise<Forwarded> {
  return new Promise((resolve, reject) => {
    const place = socketPath === undefined ? { host: to.hostname, port: to.port } : { socketPath };
    const path = to.pathname + to.search;
    const named = { host: to.host, ...headers, 'content-length': String(Buffer.byteLength(body)) };
    const asked = httpRequest({ ...place, method, path, headers: named, agent: false, ...(signal && { signal }) });
    asked.on('error', reject);
    asked.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers: given } = response;
        resolve({ status, headers: given, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    asked.end(body);
  });
}

/** A command of OpenAI's control plane (openai/tunnel-client, docs/protocol.md). */
interface Command {
  readonly request_id: string;
  readonly shard_token: string;
  readonly command_type: 'jsonrpc';
  readonly channel: 'main';
  /** A whole number with a unit: the deadline for everything, counted from the poll. */
  readonly response_timeout?: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly jsonrpc: Readonly<Record<string, unknown>>;
}

export interface Response {
  readonly request_id: string;
  readonly resp_code: number;
  readonly resp_json?: unknown;
  readonly resp_type: 'jsonrpc_response' | 'jsonrpc_notify' | 'notify_ack';
}

interface TunnelClientParts {
  /** One of `mcp.server_urls` in its configuration. */
  readonly url: string;
  readonly unixSocket?: string;
  /** The headers of `mcp.extra_headers` in its configuration. */
  readonly extraHeaders: Readonly<Record<string, string>>;
}

/**
 * Stands in for OpenAI's control plane and its `tunnel-client`: polls for commands, posts each to the MCP server, and
 * posts back the answer. A command past its deadline is cancelled and never answered, as the protocol demands.
 */
export class OpenAiTunnel {
  readonly dropped: string[] = [];
  readonly #parts: TunnelClientParts;
  readonly #plane: Server;
  readonly #queue: Command[] = [];
  readonly #responses = new Map<string, (responses: readonly Response[]) => void>();
  readonly #posted = new Map<string, Response[]>();
  #polls: (() => void)[] = [];
  #isOpen = true;
  #sent = 0;

  private constructor(parts: TunnelClientParts) {
    this.#parts = parts;
    this.#plane = createServer((request, response) => {
      if (request.url?.includes('/poll') === true) {
        const answer = (): void => {
          const commands = this.#queue.splice(0);
          if (commands.length === 0) response.writeHead(204).end();
          else response.end(JSON.stringify({ commands }));
        };
        if (this.#queue.length > 0 || !this.#isOpen) answer();
        else this.#polls.push(answer);
        return;
      }
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const posted = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Response;
        const all = this.#posted.get(posted.request_id) ?? [];
        all.push(posted);
        this.#posted.set(posted.request_id, all);
        response.end('{"status":"ok"}');
        if (posted.resp_type !== 'jsonrpc_notify') this.#responses.get(posted.request_id)?.(all);
      });
    });
  }

  static async open(parts: TunnelClientParts): Promise<OpenAiTunnel> {
    const tunnel = new OpenAiTunnel(parts);
    tunnel.#plane.listen(0, '127.0.0.1');
    await new Promise((resolve) => tunnel.#plane.once('listening', resolve));
    void tunnel.#run();
    return tunnel;
  }

  /** Sends a request as the connector does. Resolves with everything that was posted for it. */
  ask(
    jsonrpc: Command['jsonrpc'],
    more: Partial<Pick<Command, 'headers' | 'response_timeout'>> = {},
  ): Promise<readonly Response[]> {
    this.#sent += 1;
    const id = `req_${this.#sent}`;
    const answered = new Promise<readonly Response[]>((resolve) => this.#responses.set(id, resolve));
    const accept = ['application/json, text/event-stream'];
    this.#queue.push({
      ...{ request_id: id, shard_token: `shard-${id}`, command_type: 'jsonrpc', channel: 'main', jsonrpc },
      ...more,
      headers: { Accept: accept, 'Content-Type': ['application/json'], ...more.headers },
    });
    for (const poll of this.#polls.splice(0)) poll();
    return answered;
  }

  close(): void {
    this.#isOpen = false;
    for (const poll of this.#polls.splice(0)) poll();
    this.#plane.close();
    this.#plane.closeAllConnections();
  }

  async #run(): Promise<void> {
    while (this.#isOpen) {
      const plane = new URL(`http://127.0.0.1:${(this.#plane.address() as AddressInfo | null)?.port ?? 0}`);
      const to = new URL('/v1/tunnels/tunnel_0/poll?limit=25&timeout_ms=15000', plane);
      const polled = await forward({ to, method: 'GET' }).catch(() => undefined);
      if (polled?.status !== 200) continue;
      const { commands } = JSON.parse(polled.text) as { readonly commands: readonly Command[] };
      for (const command of commands) void this.#work(command, new URL('/v1/tunnels/tunnel_0/response', plane));
    }
  }

  async #work(command: Command, to: URL): Promise<void> {
    const { url, unixSocket: socketPath, extraHeaders } = this.#parts;
    const limit = /^(\d+)(ms|s)$/.exec(command.response_timeout ?? '');
    const ms = limit === null ? 600_000 : Number(limit[1]) * (limit[2] === 's' ? 1000 : 1);
    const signal = AbortSignal.timeout(ms);
    const body = JSON.stringify(command.jsonrpc);
    const headers = { ...command.headers, ...extraHeaders };
    const answer = await forward({ to: new URL(url), socketPath, headers, body, signal }).catch(() => undefined);
    if (answer === undefined) {
      this.dropped.push(command.request_id);
      return;
    }
    const { request_id, channel } = command;
    for (const posted of responsesOf(answer)) {
      const json = JSON.stringify({ request_id, channel, resp_code: answer.status, ...posted });
      await forward({ to, body: json, headers: { 'x-tunnel-shard-token': command.shard_token }, signal });
    }
  }
}

function responsesOf({ status, headers, text }: Forwarded): readonly Omit<Response, 'request_id' | 'resp_code'>[] {
  if (text === '') return [{ resp_type: 'notify_ack' }];
  const isStream = String(headers['content-type']).startsWith('text/event-stream');
  const lines = isStream ? [...text.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => data ?? '') : [text];
  return lines.map((line, at) => {
    const isLast = at === lines.length - 1;
    return { resp_json: jsonOr(line, status), resp_type: isLast ? 'jsonrpc_response' : 'jsonrpc_notify' };
  });
}

/** An answer that is not JSON-RPC becomes an error of the client itself. */
function jsonOr(text: string, status: number): unknown {
  const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return 'jsonrpc' in parsed
    ? parsed
    : { jsonrpc: '2.0', error: { code: -32_603, message: `Bad Gateway (${status})` } };
}

interface AnthropicProxyParts {
  readonly tunnelDomain: string;
  /** Maps each subdomain to `scheme://host:port`, without a path. */
  readonly routes: Readonly<Record<string, string>>;
  /** True for addresses that `upstream.allowed_ips` lists. By default these are private networks without loopback. */
  readonly isAllowed?: (address: string) => boolean;
  /** Anthropic's pages do not say which Host the server sees: the tunnel's, or its own. */
  readonly host: 'of the tunnel' | 'of the server';
}

/**
 * Stands in for Anthropic's proxy behind cloudflared (Claude's documentation, "MCP tunnels reference"): routes by the
 * host name alone, passes path, query and headers on, and connects to allowed addresses only.
 */
export function anthropicProxy({ tunnelDomain, routes, isAllowed, host }: AnthropicProxyParts) {
  return async (address: string, headers: Forward['headers'], body: string): Promise<Forwarded> => {
    const asked = new URL(address);
    const route = routes[asked.hostname.replace(`.${tunnelDomain}`, '')];
    if (route === undefined) throw new Error('no route for host');
    const to = new URL(asked.pathname + asked.search, route);
    const isPrivate = !isPublicAddress(to.hostname) && !to.hostname.startsWith('127.');
    if (!(isAllowed?.(to.hostname) ?? isPrivate)) throw new Error(`IP validation failed: ${to.hostname}`);
    const seen = host === 'of the tunnel' ? { host: asked.host } : {};
    return forward({ to, headers: { ...headers, ...seen }, body });
  };
}
