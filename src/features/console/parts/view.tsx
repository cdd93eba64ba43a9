// Views made of components, and the way between them and the parts of the page that are not.

import { render, type VNode } from 'preact';
import type { Route, View } from '../service/route.ts';

/** Returns the element of a view that is a page of cards. */
function pageRoot(name: string): HTMLElement {
  const root = document.createElement('div');
  root.className = 'page';
  root.id = name;
  return root;
}

/**
 * Returns a view whose element shows `content`. `read` is called whenever the address leads to the view; what it sets
 * in signals appears in the content.
 */
export function viewOf(
  name: string,
  content: VNode,
  read: (route: Route) => unknown,
  root: HTMLElement = pageRoot(name),
): View {
  root.dataset.view = name;
  render(content, root);
  return { root, show: read, end: () => render(null, root) };
}

/** Calls `read` at intervals while the view is on the screen, until it has left the document. */
export function whileShown(root: HTMLElement, everyMs: number, read: () => Promise<unknown>): void {
  let wasThere = false;
  const timer = setInterval(() => {
    // Another view may have been chosen before this one was in the document.
    if (!root.isConnected && wasThere) clearInterval(timer);
    wasThere = root.isConnected;
    if (wasThere && !document.hidden && !root.hidden) void read().catch(() => {});
  }, everyMs);
}

/** Lets the browser draw and handle input before the next part of the page is made. */
export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Opens a dialog outside every view. It leaves the document when it is closed. */
export function opened(dialog: VNode): HTMLDialogElement {
  const host = document.createElement('div');
  render(dialog, host);
  const element = host.firstElementChild;
  if (!(element instanceof HTMLDialogElement)) throw new Error('No dialog was made.');
  element.addEventListener('close', () => {
    element.remove();
    render(null, host);
  });
  document.body.append(element);
  element.showModal();
  return element;
}
