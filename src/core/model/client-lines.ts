import type { Scope } from './key.ts';

/** A new key and its service, as needed to set up a client. */
export interface ClientSetup {
  readonly secret: string;
  /** The key's scopes. A client that also needs other scopes gets no lines. */
  readonly scopes: readonly Scope[];
  /** Address of the service, without a slash at its end. */
  readonly url: string;
  /** Returns the command line that runs a command of Postern, with this service. */
  readonly invocation: (command: string) => { readonly command: string; readonly args: readonly string[] };
  /** The lines that features add for other clients. */
  readonly more?: readonly ClientLines[];
}

/**
 * Returns the set-up lines for each client program that can use a key with these scopes. `url` is the service's
 * address.
 */
export type ClientsOf = (
  key: { readonly key: string; readonly scopes: readonly Scope[] },
  url: string,
) => readonly ClientLines[];

/** The lines with which one client is set up to use Postern. */
export interface ClientLines {
  readonly client: string;
  /** The file or form that the lines belong in. */
  readonly where: string;
  readonly lines: readonly string[];
  /** Page and section of the guide that show the rest. */
  readonly guide?: string | undefined;
}

/**
 * Returns the set-up lines for each client that the key suits, in display order. They are the same wherever a person
 * reads them.
 */
export function clientLines(setup: ClientSetup): readonly ClientLines[] {
  const { secret, url, more = [] } = setup;
  return [
    ...more,
    {
      client: 'n8n',
      where: 'a credential of type Header Auth or Postern API',
      lines: ['Name: X-API-Key', `Value or API key: ${secret}`, `URL of the service: ${url}`],
    },
    {
      client: 'curl',
      where: 'in a terminal',
      lines: [`curl -H 'X-API-Key: ${secret}' ${url}/api/v1/keys/me`],
    },
  ];
}
