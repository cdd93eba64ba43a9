/** Everything the person may set, checked and frozen. Decision A4 says what each key allows. */
export interface Config {
  /** The folder that holds config.toml and state.db. */
  readonly dir: string;
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly rateLimitPerMinute: number;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
  };
  readonly auth: { readonly apiKey: string };
  readonly backend: {
    readonly chatDbPath: string;
    readonly pollIntervalMs: number;
    readonly osascriptPath: string;
  };
  readonly send: { readonly confirmMs: number; readonly attachmentRoots: readonly string[] };
}
