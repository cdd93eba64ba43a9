let asked: Promise<void> | undefined;

/** Adds the style sheet of all views but the overview to the page. Resolves once it applies. */
export function viewStyles(): Promise<void> {
  asked ??= new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL('views.css', import.meta.url).href;
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      asked = undefined;
      reject(new Error('The style sheet of this view did not load.'));
    });
    document.head.append(link);
  });
  return asked;
}
