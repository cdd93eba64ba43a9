// Links written by strangers: only http and https, opened without a referrer.

import type { ComponentChildren, VNode } from 'preact';

/** Matches an http or https link in a text. Excludes punctuation at its end, which usually belongs to the sentence. */
const LINK = /https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}]/g;

/** Returns the URL of an http or https address; undefined for any other text. */
export function webAddress(address: string | undefined): URL | undefined {
  const url = address === undefined ? undefined : parsed(address);
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
}

function parsed(address: string): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}

interface LinkProps {
  readonly href: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export const WebLink = ({ href, class: kind, children }: LinkProps): VNode => (
  <a href={href} class={kind} target="_blank" rel="noopener noreferrer">
    {children}
  </a>
);

/** Returns a text with its links as elements. */
export function linked(text: string): readonly (string | VNode)[] {
  const parts: (string | VNode)[] = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(LINK)) {
    parts.push(text.slice(end, index), <WebLink href={address}>{address}</WebLink>);
    end = index + address.length;
  }
  parts.push(text.slice(end));
  return parts;
}
