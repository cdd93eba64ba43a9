// Keeps what somebody types before its field appears. Without this, those letters would be shortcuts.

/** A view gives its field the focus within this time after it has appeared, in milliseconds. */
const FOCUS_MS = 100;

/** Takes what somebody types. The function that it returns ends that, and returns what was typed. */
export function catchLetters(): () => string {
  const before = document.activeElement;
  const box = document.createElement('textarea');
  box.className = 'unseen';
  box.setAttribute('aria-label', 'Text');
  document.body.append(box);
  box.focus();
  return () => {
    // A dialog that opens next returns the focus to where it was.
    if (document.activeElement === box && before instanceof HTMLElement) before.focus({ preventScroll: true });
    box.remove();
    return box.value;
  };
}

/** Gives what somebody types to the field that the next view gives the focus, if it does. */
export function typeAhead(): void {
  const main = document.querySelector('main');
  const end = catchLetters();
  const box = document.activeElement;
  // The view is there, perhaps without a field.
  const observer = new MutationObserver(() => {
    if (!main?.hasAttribute('aria-busy')) setTimeout(end, FOCUS_MS);
  });
  if (main !== null) observer.observe(main, { attributeFilter: ['aria-busy'] });
  const left = ({ relatedTarget: field }: Event & { readonly relatedTarget?: EventTarget | null }): void => {
    observer.disconnect();
    const typed = end();
    const isField = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
    if (!isField || typed === '') return;
    field.value += typed;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  box?.addEventListener('blur', left, { once: true });
}
