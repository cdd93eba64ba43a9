import type { StatusWarning } from './status.ts';

export const ACCOUNT_SERVICES = ['iMessage', 'SMS', 'RCS', 'other'] as const;

/**
 * Why there is no answer from Messages. `not_asked`: asking might have made macOS prompt the user. A number: the script
 * failed with this AppleScript error. `no_answer`: the script ended without an error number.
 */
export type ScriptFailure = { readonly error: 'not_asked' | 'no_answer' | number };

/** An account that Messages lists, as `accounts.applescript` prints it. */
export interface ListedAccount {
  readonly service: (typeof ACCOUNT_SERVICES)[number];
  readonly enabled: boolean;
}

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
export function accountState(accounts: readonly ListedAccount[]): MessagesAccount['state'] {
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
