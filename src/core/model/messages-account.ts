import type { AccountDiagnostics } from './diagnostics.ts';
import type { StatusWarning } from './status.ts';

/** `no_imessage`: Messages has an enabled account, but only for SMS or RCS. `signed_out`: it has none. */
export const MESSAGES_ACCOUNT_STATES = ['imessage', 'no_imessage', 'signed_out'] as const;

/** The accounts of Messages when Postern last asked for them. */
export interface MessagesAccount {
  readonly state: (typeof MESSAGES_ACCOUNT_STATES)[number];
  readonly checked_at: string;
}

/**
 * Classifies the accounts. The account that relays SMS from an iPhone stays enabled after Apple has signed the Mac out
 * of iMessage.
 */
export function accountState(accounts: readonly AccountDiagnostics[]): MessagesAccount['state'] {
  const enabled = accounts.filter((account) => account.enabled);
  if (enabled.some(({ service }) => service === 'iMessage')) return 'imessage';
  return enabled.length > 0 ? 'no_imessage' : 'signed_out';
}

export const SIGN_IN = 'Open Messages on this Mac, then Messages > Settings > iMessage, and sign in.';

/** Returns the warning for a state without iMessage; undefined for `imessage`. */
export function accountWarning(state: MessagesAccount['state']): StatusWarning | undefined {
  const trouble = accountTrouble(state);
  if (trouble === undefined) return undefined;
  const title = 'Messages is not signed in to iMessage';
  return { code: 'imessage_signed_out', text: `${trouble} ${SIGN_IN}`, tone: 'bad', title, menu: trouble };
}

/** Returns the sentence for a state without iMessage; undefined for `imessage`. */
export function accountTrouble(state: MessagesAccount['state']): string | undefined {
  if (state === 'imessage') return undefined;
  return state === 'no_imessage'
    ? 'Messages is not signed in to iMessage: only SMS or RCS of an iPhone is enabled. iMessages neither arrive nor go out.'
    : 'Messages is not signed in to any account.';
}
