// The user's preferences on this device, stored in the browser once changed.

export const SCHEMES = ['auto', 'light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** The key of shortcuts, as this device calls it. */
export const MODIFIER = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl+';

export const enterSends = (): boolean => localStorage.getItem('postern-enter') !== 'breaks';
export const hasLetters = (): boolean => localStorage.getItem('postern-letters') !== 'off';
export const schemeNow = (): Scheme =>
  SCHEMES.find((scheme) => scheme === localStorage.getItem('postern-scheme')) ?? 'auto';

/** Applies the chosen colour scheme. Pages call it before they show anything. */
export function applyScheme(): void {
  const scheme = schemeNow();
  if (scheme === 'auto') delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}

/** Stores a preference. The default, `usual`, is not stored. */
export function keepPreference(name: 'scheme' | 'enter' | 'letters', value: string, usual: string): void {
  if (value === usual) localStorage.removeItem(`postern-${name}`);
  else localStorage.setItem(`postern-${name}`, value);
  if (name === 'scheme') applyScheme();
}
