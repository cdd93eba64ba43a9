import { problemTexts } from './problems.ts';

/** The problem with which a send failed. `extra` has the members that the problem adds to the answer. */
export interface FailedSend {
  readonly code: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/**
 * Reports whether the message may have been sent although its send failed. True for a code that is not in the
 * catalogue, so that nothing is sent twice because of an error that nobody foresaw.
 */
export function mayHaveBeenSent(failed: FailedSend): boolean {
  const texts = problemTexts(failed.code);
  return wasSentInPart(failed) || texts.length === 0 || texts.some((text) => text.mayHaveBeenSent === true);
}

/**
 * Reports whether something was certainly sent: some parts of the message, or the message to the wrong conversation.
 */
export function wasSentInPart({ code, extra = {} }: FailedSend): boolean {
  const { parts_sent: parts } = extra;
  return code === 'misdirected' || (Array.isArray(parts) && parts.length > 0);
}
