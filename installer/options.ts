import type { NodePackage } from '../src/core/runtime/node-package.ts';
import type { AgentConfig } from './launch-agent.ts';

/** The configuration, as read by the version that is being installed. */
export type Settings =
  /** No configuration exists yet; `server` is the address on which the first launch will listen. */
  | { readonly kind: 'none'; readonly server: { readonly host: string; readonly port: number } }
  | { readonly kind: 'usable'; readonly config: AgentConfig; readonly warnings: readonly string[] }
  | { readonly kind: 'unusable'; readonly mistakes: readonly string[] };

export interface InstallOptions {
  /** The built project: the folder with package.json and dist. */
  readonly root: string;
  readonly version: string;
  /**
   * True to build the bundle again from a newly obtained Node. If the bundle then differs from the old one, the user
   * has to grant the permissions again.
   */
  readonly renewRuntime: boolean;
  /** How long to wait for the user to grant the permissions; 0 checks once. */
  readonly permissionsLimitMs: number;
  /** Asks the user a question on the terminal. Returns false if nobody can answer. */
  readonly confirm: (question: string) => Promise<boolean>;
  readonly readSettings: (configDir: string) => Settings;
  readonly packages?: Readonly<Record<string, NodePackage>>;
}
