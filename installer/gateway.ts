import { request } from 'node:http';
import type { PermissionReport } from '../src/domain/ports/permissions.ts';
import type { BackendHealth } from '../src/domain/ports/reading.ts';
import type { PermissionsAnswer, StatusReport } from '../src/domain/status.ts';

/** Where the installed gateway listens and the key to it, from the configuration. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
}

/** An answer of the gateway, or why there is none. A 429 is a sign of life. */
export type Reply<Body> =
  | { readonly kind: 'answer'; readonly body: Body }
  | { readonly kind: 'busy'; readonly retryAfterS: number }
  | { readonly kind: 'refused'; readonly status: number }
  /** Something else answers at that address. */
  | { readonly kind: 'stranger' }
  | { readonly kind: 'away' };

const HEALTH_LIMIT_MS = 5_000;
/** The agent's own question to Messages takes up to 20 s. */
const CHECK_LIMIT_MS = 35_000;
const BODY_LIMIT_BYTES = 1 << 20;

/** The running gateway, spoken to from this machine. */
export class Gateway {
  readonly #address: Address;

  constructor(address: Address) {
    this.#address = address;
  }

  /** For people and browsers: a wildcard address is reached by loopback. */
  get url(): string {
    const host = localHost(this.#address.host);
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.#address.port}`;
  }

  health(): Promise<Reply<{ readonly status: 'ok'; readonly backend: BackendHealth }>> {
    return this.#ask('GET', '/api/v1/health', HEALTH_LIMIT_MS, (body) => body.status === 'ok' && 'backend' in body);
  }

  status(): Promise<Reply<StatusReport>> {
    return this.#ask(
      'GET',
      '/api/v1/status',
      HEALTH_LIMIT_MS,
      (body) => Array.isArray(body.webhooks) && areReports(body.permissions) && isObject(body.newest_event),
    );
  }

  /** The agent looks itself, because macOS asks about whoever does; may show the person a dialog. */
  checkPermissions(): Promise<Reply<PermissionsAnswer>> {
    return this.#ask('POST', '/api/v1/permissions/check', CHECK_LIMIT_MS, (body) => areReports(body.permissions));
  }

  #ask<Body>(
    method: string,
    path: string,
    limitMs: number,
    fits: (body: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<Reply<Body>> {
    const { host, port, apiKey } = this.#address;
    return new Promise((resolve) => {
      const asked = request(
        {
          host: localHost(host),
          port,
          method,
          path,
          agent: false,
          signal: AbortSignal.timeout(limitMs),
          // Node would write a header as latin1; the service compares its bytes as UTF-8 (decision E6).
          headers: { 'X-API-Key': Buffer.from(apiKey, 'utf8').toString('latin1') },
        },
        (response) => {
          const chunks: Buffer[] = [];
          let bytes = 0;
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
            if (bytes > BODY_LIMIT_BYTES) asked.destroy();
            else chunks.push(chunk);
          });
          response.on('error', () => resolve({ kind: 'away' }));
          response.on('close', () => resolve({ kind: 'away' }));
          response.on('end', () => {
            const { statusCode: status = 0 } = response;
            if (status === 429) resolve({ kind: 'busy', retryAfterS: Number(response.headers['retry-after']) || 1 });
            else if (status === 401 || status >= 500) resolve({ kind: 'refused', status });
            else resolve(answer(Buffer.concat(chunks).toString('utf8'), fits));
          });
        },
      );
      asked.on('error', () => resolve({ kind: 'away' }));
      asked.end();
    });
  }
}

/** An address to listen on as an address to go to. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function answer<Body>(text: string, fits: (body: Readonly<Record<string, unknown>>) => boolean): Reply<Body> {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) && fits(body) ? { kind: 'answer', body: body as Body } : { kind: 'stranger' };
  } catch {
    return { kind: 'stranger' };
  }
}

function areReports(value: unknown): value is readonly PermissionReport[] {
  return Array.isArray(value) && value.every((report) => isObject(report) && typeof report.state === 'string');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
