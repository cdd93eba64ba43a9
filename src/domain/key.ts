/** What a limited key may be used for. Everything else is the owner's alone. */
export const SCOPES = ['read', 'events', 'send', 'webhooks', 'approve'] as const;
export type Scope = (typeof SCOPES)[number];

/** A key beside the owner's, as access checks need it. */
export interface Key {
  readonly id: string;
  readonly scopes: readonly Scope[];
}
