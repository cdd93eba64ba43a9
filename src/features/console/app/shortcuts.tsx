// The keyboard shortcuts.

import type { VNode } from 'preact';
import { typeAhead } from '../parts/catch-letters.ts';
import { Button } from '../parts/parts.tsx';
import { opened } from '../parts/view.tsx';
import { navigationItems } from '../service/navigation.ts';
import { MODIFIER } from '../service/preferences.ts';
import { currentRoute, goTo } from '../service/route.ts';
import { may, serves } from '../service/service.ts';
import { focusFind } from '../views/merged/merged.tsx';

/** How long `g` waits for the letter of a view, in milliseconds. */
const GO_MS = 1500;
/** The letters of the views, after `g`. */
export const GO: Readonly<Record<string, string>> = {
  o: 'overview',
  m: 'messages',
  e: 'events',
  w: 'webhooks',
  a: 'approvals',
  k: 'keys',
  l: 'audit',
  s: 'settings',
};
let goUntil = 0;

export const Keys = ({ keys }: { readonly keys: string }): VNode => (
  <span class="push nowrap">{keys.split(' ').map((key) => [<kbd key={key}>{key}</kbd>, ' '])}</span>
);

export async function takeShortcut(key: string): Promise<void> {
  if (performance.now() < goUntil && GO[key] !== undefined) {
    goUntil = 0;
    if (navigationItems().some(({ view }) => view === GO[key]) || key === 's') goTo(`#/${GO[key]}`);
    return;
  }
  goUntil = 0;
  if (DECISIONS[key] !== undefined) decideOn(DECISIONS[key]);
  else if (key === 'g') goUntil = performance.now() + GO_MS;
  else if (key === '?') showShortcuts();
  else if (key === 'n' && may('send')) {
    typeAhead();
    goTo('#/messages?new');
  } else if (key === '/' && may('read')) {
    if (currentRoute().view !== 'messages') goTo('#/messages');
    if (!serves('listMessages')) {
      setTimeout(focusFind);
      return;
    }
    const { focusSearch } = await import('../views/messages/messages.tsx');
    // The `hashchange` event shows the messages view, but only in a later turn of the event loop. The search box cannot
    // take the focus before that.
    setTimeout(focusSearch);
  }
}

const DECISIONS: Readonly<Record<string, string>> = { a: 'approve', d: 'deny' };

/** Decides about the approval that has the focus. What hides characters needs its own button. */
function decideOn(decision: string): void {
  const card = document.activeElement?.closest('.ask');
  const button = card?.querySelector<HTMLElement>(`[data-do="${decision}"]`);
  if (decision === 'deny' || button?.matches('.first')) button?.click();
  else button?.focus();
}

/** Returns the shortcuts of the views that the key may visit. */
const viewShortcuts = (): typeof SHORTCUTS =>
  Object.entries(GO).flatMap(([letter, view]) => {
    const text = view === 'settings' ? 'Settings' : navigationItems().find((item) => item.view === view)?.text;
    return text === undefined ? [] : [[`g ${letter}`, text] as const];
  });

const SHORTCUTS: readonly (readonly [keys: string, text: string])[] = [
  [`${MODIFIER}K`, 'Search or jump'],
  ['/', 'Search'],
  ['n', 'New message'],
  ['↑ ↓', 'Move through a list'],
  ['a d', 'Approve or deny the message that has the focus'],
  ['Esc', 'Close what is open, or go back to the list'],
  ['?', 'Show this list'],
];

export function showShortcuts(): void {
  const dialog = opened(
    <dialog aria-labelledby="shortcuts-title" id="shortcuts">
      <div class="in">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <div class="lists">
          {[SHORTCUTS, viewShortcuts()].map((list) => (
            <dl>
              {list.map(([keys, text]) => [
                <dt key={keys}>
                  <Keys keys={keys} />
                </dt>,
                <dd key={text}>{text}</dd>,
              ])}
            </dl>
          ))}
        </div>
        <div class="acts">
          <Button run={() => dialog.close()}>Close</Button>
        </div>
      </div>
    </dialog>,
  );
}
