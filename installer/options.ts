import type { AgentConfig } from './agent.ts';
import type { NodePackage } from './node-runtime.ts';

/** What the configuration says, read by the version that is being installed. */
export type Settings =
  /** There is none yet; `server` is where the one of the first launch listens. */
  | { readonly kind: 'none'; readonly server: { readonly host: string; readonly port: number } }
  | { readonly kind: 'usable'; readonly config: AgentConfig; readonly warnings: readonly string[] }
  | { readonly kind: 'unusable'; readonly mistakes: readonly string[] };

export interface InstallOptions {
  /** The built project: the folder with package.json and dist. */
  readonly root: string;
  readonly version: string;
  /** Replaces the program in the bundle; a new Node costs the permissions. */
  readonly renewRuntime: boolean;
  /** How long to wait for the person to grant the permissions; 0 asks once. */
  readonly permissionsLimitMs: number;
  /** Asks the person a question on the terminal. False where nobody can answer. */
  readonly confirm: (question: string) => Promise<boolean>;
  readonly readSettings: (configDir: string) => Settings;
  readonly packages?: Readonly<Record<string, NodePackage>>;
}
