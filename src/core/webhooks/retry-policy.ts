import type { AxiosError } from 'axios';
import { HOUR_MS } from '../model/durations.ts';
import { errorCode } from '../model/errors.ts';

/** When and after which failures the attempts of one post are repeated. */
export interface RetryPolicy {
  /** Milliseconds to wait before each retry, one item per retry. */
  readonly waitsMs: readonly number[];
  /** If false, an attempt is repeated only if it certainly did not reach the receiver. */
  readonly retriesArrived: boolean;
  /** If true, a receiver that says when to come back, or never, gets no retry. */
  readonly obeysReceiver: boolean;
}

/** Reports whether the policy allows a retry after this failure. */
export function allowsRetry(policy: RetryPolicy, error: AxiosError, nowMs: number): boolean {
  if (!policy.retriesArrived && !neverArrived(error)) return false;
  if (!policy.obeysReceiver || error.response === undefined) return true;
  const { status, headers } = error.response;
  return status !== GONE && askedWaitMs(headers['retry-after'], nowMs) === undefined;
}

/** Codes of errors that occur before there is a connection. Nothing has then reached the receiver. */
const UNREACHED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
]);

/** Reports whether an attempt certainly did not reach the receiver. */
export function neverArrived(error: AxiosError): boolean {
  return error.response === undefined && UNREACHED.has(errorCode(error) ?? '');
}

/** Milliseconds before the second and the third attempt of a failed delivery, as the contract requires. */
export const RETRY_WAITS_MS: readonly number[] = [1000, 5000];

const LONGEST_HOLD_MS = 300_000;

/**
 * Returns the wait after a failed post of a held delivery, in milliseconds (decision P3): what the receiver asks for,
 * else 10 s after the third failed attempt, then twice as long each time, at most 5 min. A post without an attempt
 * waits the longest: its host is not allowed, and a change of the settings ends the wait.
 */
export function holdWaitMs({
  attempts,
  attemptRecords,
  askedWaitMs: askedMs,
}: {
  readonly attempts: number;
  readonly attemptRecords: readonly unknown[];
  readonly askedWaitMs?: number;
}): number {
  if (askedMs !== undefined) return askedMs;
  if (attemptRecords.length === 0) return LONGEST_HOLD_MS;
  const retries = Math.max(0, attempts - RETRY_WAITS_MS.length - 1);
  return Math.min(10_000 * 2 ** retries, LONGEST_HOLD_MS);
}

/** The status with which a receiver says that it wants no more deliveries (decision AB10). */
export const GONE = 410;
/** The longest wait that a receiver may ask for. */
const MAX_ASKED_MS = HOUR_MS;

/**
 * Returns the wait that a `Retry-After` header asks for, in milliseconds: seconds or a date, at most an hour (decision
 * AB10). Returns undefined if it asks for none.
 */
export function askedWaitMs(header: unknown, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  const written = header.trim();
  const ms = /^\d+$/.test(written) ? Number(written) * 1000 : Date.parse(written) - nowMs;
  return ms > 0 ? Math.min(ms, MAX_ASKED_MS) : undefined;
}
