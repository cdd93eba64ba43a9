import type { Diagnostics } from '../../../client/diagnostics-types.ts';
import { type Finding, fault, ok, unsure } from '../../../core/model/finding.ts';
import { accountState, accountTrouble, type MessagesAccount, SIGN_IN } from '../../../core/model/messages-account.ts';

const NAME = 'messages_account';

/**
 * Reports whether Messages is signed in, as the service found. This process does not ask Messages, because macOS would
 * prompt for the terminal's permission.
 */
export function askedAccount(accounts: Diagnostics['accounts'] | undefined): Finding {
  if (accounts === undefined || 'error' in accounts) {
    return unsure(NAME, 'Messages did not say whether it is signed in.');
  }
  return accountFinding(accountState(accounts));
}

export function accountFinding(state: MessagesAccount['state']): Finding {
  const trouble = accountTrouble(state);
  return trouble === undefined ? ok(NAME, 'Messages is signed in to iMessage.') : fault(NAME, trouble, SIGN_IN);
}
