/** One setting of config.toml. Secrets are left out. */
export interface ShownSetting {
  /** `section.key`, as in the file. */
  readonly key: string;
  /** The setting in a few words. */
  readonly title: string;
  readonly value: unknown;
  readonly default: unknown;
  readonly is_default: boolean;
  /** Always true: Postern reads every setting only at startup. */
  readonly needs_restart: true;
  readonly description: string;
}
