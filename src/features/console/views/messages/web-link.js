// Links written by strangers: only http and https, opened without a referrer.

import { h } from '../../parts/old/dom.js';

/** @import { Children } from '../../parts/old/dom.js' */

/** Matches an http or https link in a text. Excludes punctuation at its end, which usually belongs to the sentence. */
const LINK = /https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}]/g;

/**
 * Returns the URL of an http or https address; undefined for any other text.
 * @param {string | undefined} address
 */
export function webAddress(address) {
  const url = address === undefined ? null : parsed(address);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** @param {string} address */
function parsed(address) {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/**
 * @param {string} href
 * @param {string} kind
 * @param {...Children} children
 */
export const webLink = (href, kind, ...children) =>
  h('a', { href, class: kind, target: '_blank', rel: 'noopener noreferrer' }, ...children);

/**
 * Returns a text with its links as elements.
 * @param {string} text
 * @returns {(string | Node)[]}
 */
export function linked(text) {
  const parts = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(LINK)) {
    parts.push(text.slice(end, index), webLink(address, '', address));
    end = index + address.length;
  }
  parts.push(text.slice(end));
  return parts;
}
