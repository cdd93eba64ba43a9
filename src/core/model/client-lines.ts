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
}

/** The lines with which one client is set up to use Postern. */
export interface ClientLines {
  readonly client: string;
  /** The file or form that the lines belong in. */
  readonly where: string;
  readonly lines: readonly string[];
  /** Page and section of the guide that show the rest. */
  readonly guide?: string | undefined;
}
