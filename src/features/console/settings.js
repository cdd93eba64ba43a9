// The user's preferences on this device, stored in the browser once changed.

export const SCHEMES = /** @type {const} */ (['auto', 'light', 'dark']);

export const enterSends = () => localStorage.getItem('postern-enter') !== 'breaks';
export const hasLetters = () => localStorage.getItem('postern-letters') !== 'off';
export const schemeNow = () => SCHEMES.find((scheme) => scheme === localStorage.getItem('postern-scheme')) ?? 'auto';

/** Applies the chosen colour scheme. Pages call it before they show anything. */
export function applyScheme() {
  const scheme = schemeNow();
  if (scheme === 'auto') delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}

/**
 * Stores a preference. The default, `usual`, is not stored.
 * @param {'scheme' | 'enter' | 'letters'} name
 * @param {string} value
 * @param {string} usual
 */
export function keepPreference(name, value, usual) {
  if (value === usual) localStorage.removeItem(`postern-${name}`);
  else localStorage.setItem(`postern-${name}`, value);
  if (name === 'scheme') applyScheme();
}
