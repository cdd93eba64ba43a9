/** Hosts as URLs spell them; `*.example.net` matches every name below example.net. Empty: all. */
export type AllowedHosts = readonly string[];

export function mayPostTo(url: string, allowedHosts: AllowedHosts): boolean {
  if (allowedHosts.length === 0) return true;
  const host = hostOf(url);
  return allowedHosts.some((allowed) =>
    allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed,
  );
}

/** Why it may not, for the registration and the list of deliveries. */
export function hostRefusal(url: string): string {
  return `The host ${hostOf(url)} is not in webhooks.allowed_hosts of the configuration.`;
}

/** A name with the root's dot at its end is the same name. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}
