// Actions of buttons, and what the page says about their outcome.

import { currentRoute } from '../service/route.ts';
import { reasonOf } from '../service/words.ts';

const TOAST_MS = 4000;

let timer: ReturnType<typeof setTimeout> | undefined;
/** The view that the page showed, or was going to, when the text appeared. */
let shownIn = '';

/** Shows the outcome of an action for some seconds; a failure for longer. */
export function toast(text: string, isBad = false): void {
  clearTimeout(timer);
  const line = document.getElementById('toast');
  if (line === null) return;
  line.className = isBad ? 'toast bad' : 'toast';
  line.textContent = text;
  shownIn = currentRoute().view;
  timer = setTimeout(() => line.replaceChildren(), isBad ? 3 * TOAST_MS : TOAST_MS);
}

/** Removes what belongs to another view than the one that the address names. */
export function dropOldToast(): void {
  if (shownIn !== currentRoute().view) document.getElementById('toast')?.replaceChildren();
}

/** Runs an action without a busy button, such as one that begins with a question. Shows an error as a toast. */
export async function reported(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    toast(reasonOf(error), true);
  }
}

/** Runs the action of a button, which is busy until the action ends. Shows an error as a toast. */
export async function busily(control: HTMLButtonElement, run: () => unknown): Promise<void> {
  if (control.getAttribute('aria-busy') === 'true') return;
  control.setAttribute('aria-busy', 'true');
  await reported(run);
  control.removeAttribute('aria-busy');
}

/** Copies a text. `said` is what the page then says. */
export async function copy(text: string, said = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
  } catch {
    toast('The browser does not allow copying here.', true);
  }
}
