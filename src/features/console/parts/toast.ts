// Actions of buttons, and what the page says about their outcome.

import { reasonOf } from '../service/words.ts';

const TOAST_MS = 4000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows the outcome of an action for some seconds; a failure for longer. */
export function toast(text: string, isBad = false): void {
  clearTimeout(timer);
  const line = document.getElementById('toast');
  if (line === null) return;
  line.className = isBad ? 'toast bad' : 'toast';
  line.textContent = text;
  timer = setTimeout(() => line.replaceChildren(), isBad ? 3 * TOAST_MS : TOAST_MS);
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

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    toast('The browser does not allow copying here.', true);
  }
}
