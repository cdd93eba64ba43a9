import type { PosternError } from '../../client/postern-client.ts';
import { mayHaveBeenSent } from '../model/failed-send.ts';

/** Codes with which the client itself refuses a send, or reports that the service never received it. */
const NOTHING_SENT: ReadonlySet<string> = new Set(['unreachable', 'invalid_key', 'not_capable', 'dry_run']);

/** Reports whether the service may have sent the message although the request to send it failed. */
export function mayHaveSent({ code, problem }: PosternError): boolean {
  return !NOTHING_SENT.has(code) && mayHaveBeenSent({ code, extra: problem });
}
