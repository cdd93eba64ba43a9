import type { StoredApproval } from '../domain/ports/access.ts';
import type { SendPreferences } from '../domain/send-service.ts';
import { visible } from '../domain/visible.ts';

/** A longer text is decided in the console: nobody reads it to the end on a phone. */
const MAX_TEXT = 2000;
/** Limit of the whole request, with names of files, readers and characters made visible. */
const MAX_LENGTH = 4000;

/**
 * The request for a decision in the self-chat: the destination first, then the exact text, each line behind a bar, so
 * that no text looks like a line of ours. Undefined if it is too long.
 */
export function requestText(approval: StoredApproval, keyName: string): string | undefined {
  const { id, to, members, text, attachments } = approval;
  if (text === null || text.length > MAX_TEXT) return undefined;
  const lines = [
    'Postern asks: send this?',
    `To: ${line(to)}`,
    ...(members.length === 1 && members[0] === to ? [] : [`Read by: ${members.map(line).join(', ')}`]),
    ...(text === '' ? [] : text.split('\n').map((part) => `│ ${visible(part)}`)),
    ...attachments.map(({ name, bytes }) => `File: ${line(name)}, ${bytes} bytes`),
    ...optionLines(approval),
    ...(approval.send_at === undefined ? [] : [`At: ${approval.send_at}`]),
    `Asked by the key ${line(keyName)}, until ${approval.expires_at}`,
    `Tapback 👍 sends it, 👎 does not. Typed answers do nothing. (${id})`,
  ];
  const whole = lines.join('\n');
  return whole.length > MAX_LENGTH ? undefined : whole;
}

function line(text: string): string {
  return visible(text.replaceAll('\n', ' '));
}

function optionLines({ service, fallback }: SendPreferences): readonly string[] {
  return [
    ...(service === undefined ? [] : [`By: ${service}`]),
    ...(fallback === undefined ? [] : [`If that fails: ${fallback}`]),
  ];
}
