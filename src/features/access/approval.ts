import type { Approval } from '../../client/access-types.ts';

/**
 * Returns the console's page on which the owner decides on a held send, as a path relative to the service's address.
 */
export function approvalInConsole(id: string): string {
  return `/console#/approvals/${id}`;
}

/** Reports whether the state is final. */
export function hasEnded({ state }: Pick<Approval, 'state'>): boolean {
  return state !== 'held' && state !== 'approved';
}
