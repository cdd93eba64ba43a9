import { isPosternError, type PosternClient } from '../../client/postern-client.ts';
import { absent, type Observation } from './observation.ts';

/** What of a running service the report asks. */
export type ReportClient = Pick<
  PosternClient,
  'health' | 'status' | 'diagnostics' | 'send' | 'message' | 'checkPermissions'
>;

/** Why the service did not do what it was asked, by its status and code alone. */
export function refusal(error: unknown): Observation {
  if (!isPosternError(error)) return absent('failed');
  const code = /^[a-z_]{1,40}$/.test(error.code) ? error.code : null;
  return absent('no_service', { status: whole(error.status), code });
}

/** A number as it may be shown: one of more than seven digits could be somebody's. */
export function whole(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) < 10_000_000 ? value : null;
}
