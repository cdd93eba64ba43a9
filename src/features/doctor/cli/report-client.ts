import { isPosternError, type PosternClient } from '../../../client/postern-client.ts';
import { absent, type Observation } from './observation.ts';

/** The requests that the report makes to a running service. */
export type ReportClient = Pick<
  PosternClient,
  'health' | 'status' | 'diagnostics' | 'send' | 'message' | 'checkPermissions'
>;

/** Returns the reason for a refusal, reduced to its status and code. */
export function observedRefusal(error: unknown): Observation {
  if (!isPosternError(error)) return absent('failed');
  const code = /^[a-z_]{1,40}$/.test(error.code) ? error.code : null;
  return absent('no_service', { status: whole(error.status), code });
}

/** Returns a whole number of at most seven digits; null for anything else. A longer number could identify somebody. */
export function whole(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) < 10_000_000 ? value : null;
}
