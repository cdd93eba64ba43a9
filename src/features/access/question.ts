import { type SendChoices, sendChoices } from '../../core/model/send-service.ts';
import { visible } from '../../core/model/visible.ts';
import type { StoredApproval } from './ports.ts';

/**
 * Maximum length of a send's text in a question, in UTF-16 code units. Sends with a longer text are decided in the
 * console, because nobody reads them to the end on a phone.
 */
const MAX_TEXT = 2000;
/**
 * Maximum length of a whole question, in UTF-16 code units: text, file names and readers, with invisible characters
 * spelled out.
 */
const MAX_LENGTH = 4000;

/**
 * Returns the message in the self-chat that asks for a decision; undefined if it is too long. The destination comes
 * first, then the exact text. Each line of the text begins with a bar, so that no line can look like one that Postern
 * wrote.
 */
export function questionText(approval: StoredApproval, keyName: string): string | undefined {
  const { id, to, members, text, attachments } = approval;
  if (text === null || text.length > MAX_TEXT) return undefined;
  const lines = [
    'Postern asks: send this?',
    `To: ${line(to)}`,
    ...(members.length === 1 && members[0] === to ? [] : [`Read by: ${members.map(line).join(', ')}`]),
    ...(text === '' ? [] : text.split('\n').map((part) => `│ ${visible(part)}`)),
    ...attachments.map(({ name, bytes }) => `File: ${line(name)}, ${bytes} bytes`),
    ...choiceLines(approval),
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

const CHOICE_WORDS: Readonly<Record<keyof SendChoices, string>> = { service: 'By', fallback: 'If that fails' };

function choiceLines(approval: SendChoices): readonly string[] {
  const made = Object.entries(sendChoices(approval)) as [keyof SendChoices, string][];
  return made.map(([name, value]) => `${CHOICE_WORDS[name]}: ${value}`);
}
