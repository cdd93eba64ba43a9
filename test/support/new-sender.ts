import { Sender, type SenderParts } from '../../src/core/sender/sender.ts';
import { openSentRows, type SentRowsParts } from '../../src/core/sender/sent-rows.ts';

export type NewSenderOptions = Omit<SenderParts, 'rows'> & SentRowsParts;

/** Creates a sender, and what finds the rows of its sends, from one set of options. */
export function newSender(options: NewSenderOptions) {
  const rows = openSentRows(options);
  return { sender: new Sender({ ...options, rows }), origins: rows.origins, confirmations: rows.confirmations };
}
