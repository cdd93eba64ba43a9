import type { PosternError } from './postern-error.ts';
import type { TransportRequest } from './transport.ts';

export const DEFAULT_TIMEOUT_MS = 30_000;
/** A decision is waited for up to 50 s. */
const WAIT_TIMEOUT_MS = 60_000;
/** It watches for two minutes at most, and a script that it runs meanwhile ends within 30 s. */
const DIAGNOSTICS_TIMEOUT_MS = 160_000;
/** An upload may take 10 minutes. */
const FILE_TIMEOUT_MS = 11 * 60_000;

export interface RequestOptions {
  readonly body?: unknown;
  /** Sent as they are, in place of JSON. */
  readonly bytes?: TransportRequest['body'];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** For what the service itself takes its time with; undefined for everything else. */
export function slowAnswerMs(path: string): number | undefined {
  // It waits up to 20 s for macOS.
  if (path === 'permissions/check') return DEFAULT_TIMEOUT_MS;
  if (/^(?:attachments$|messages\/[^/]+\/attachments\/)/.test(path)) return FILE_TIMEOUT_MS;
  if (/^(?:approvals|events)\b.*[?&]wait=/.test(path)) return WAIT_TIMEOUT_MS;
  return path.startsWith('diagnostics?') ? DIAGNOSTICS_TIMEOUT_MS : undefined;
}

/** Trying again would only be told the same. */
export function isFinal({ status }: PosternError): boolean {
  return status >= 200 && status < 500 && status !== 408 && status !== 429;
}

/** A row id says nothing of changes; an offset does. */
export function isOffset(after: number | string | undefined): boolean {
  return typeof after === 'string' && !/^\d+$/.test(after);
}

export function queryOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ''
    : `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}
