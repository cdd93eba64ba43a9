// The views that the signed-in key may visit.

import { isOwner, may, mayOwn } from './service.ts';

/** A link to a view. */
export interface NavigationItem {
  readonly view: string;
  readonly icon: string;
  readonly text: string;
  readonly isHere: () => boolean;
}

export const MAIN: readonly NavigationItem[] = [
  { view: 'overview', icon: 'home', text: 'Overview', isHere: isOwner },
  { view: 'messages', icon: 'chat', text: 'Messages', isHere: () => may('read') },
  { view: 'events', icon: 'pulse', text: 'Events', isHere: () => may('events') },
  { view: 'webhooks', icon: 'hook', text: 'Webhooks', isHere: () => may('webhooks') },
];
/** The views about limited keys. */
export const ACCESS: readonly NavigationItem[] = [
  { view: 'approvals', icon: 'hand', text: 'Approvals', isHere: () => may('approve') },
  { view: 'keys', icon: 'key', text: 'Keys', isHere: () => mayOwn('listKeys') },
  { view: 'audit', icon: 'log', text: 'Audit log', isHere: () => mayOwn('listAudit') },
];
/**
 * Views in the tab bar of a phone. The bar has room for five tabs. The fifth tab is Settings, which has the label More
 * there and lists the remaining views.
 */
export const TABS: readonly string[] = ['overview', 'messages', 'approvals', 'events'];

/** Returns the navigation items that the signed-in key may visit. */
export const navigationItems = (): readonly NavigationItem[] => [...MAIN, ...ACCESS].filter(({ isHere }) => isHere());
