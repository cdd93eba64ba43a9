import type { ClientLines } from '../core/model/client-lines.ts';
import type { Scope } from '../core/model/key.ts';
import type { Approval, ApprovalState, AuditAction, AuditEntry, SelfChatRecord, SignInCode } from './access-types.ts';
import type { ApprovalMode, Caps, ClosedGroup, KeyCheck, KeyRecord, KeyRevocation, Preset } from './key-types.ts';
import { queryOf, type Requests } from './request.ts';

/**
 * The settings of a key. `read` and `send` list addresses and conversation ids; `'*'` means everyone, an empty list no
 * one.
 */
export interface KeyOptions {
  readonly read?: '*' | readonly string[];
  readonly send?: '*' | readonly string[];
  readonly approval?: ApprovalMode;
  readonly caps?: Partial<Caps>;
  readonly dry_run?: boolean;
  /** Instant at which the key expires; null for never. Default: in 90 days. */
  readonly expires_at?: string | null;
  /** Hosts, such as `nas.local:5678`, to which the key's webhooks may post besides the service's machine. */
  readonly callback_hosts?: readonly string[];
  /** Longest `wait` of a request with this key, in seconds (0 to 50). The service shortens a longer one. */
  readonly max_wait_s?: number;
}

export type NewKeyOptions = KeyOptions & { readonly name: string } & (
    | { readonly preset: Preset }
    | { readonly scopes: readonly Scope[] }
  );

/** A key with its secret, which is shown only at creation and rotation. */
export type KeyWithSecret = KeyRecord & {
  readonly key: string;
  /** Present if the key was created with `include: 'clients'`. */
  readonly clients?: readonly ClientLines[];
};

/** Conditions on lines of the audit log. Instants and days are ISO 8601. */
export interface AuditFilter {
  readonly key?: string;
  /** Returns only lines after the id `after` and before the id `before`. */
  readonly after?: number;
  readonly before?: number;
  readonly since?: string;
  readonly action?: AuditAction;
  readonly outcome?: string;
  readonly target?: string;
  /** Order of the lines. Default: `asc`, oldest first. */
  readonly order?: 'asc' | 'desc';
  /** Adds the names of targets. */
  readonly include?: 'contacts';
  readonly limit?: number;
}

/** Manages limited keys. All methods but `mine` need the owner's key. */
export class KeysApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Lists the keys. With `include: 'revoked'`, also lists the newest 1,000 revoked keys, which have `revoked_at`. */
  list(included: { readonly include?: 'revoked' } = {}): Promise<KeyRecord[]> {
    return this.#requests.list(`keys${queryOf(included)}`, 'scopes');
  }

  get(id: string): Promise<KeyRecord> {
    return this.#requests.one('GET', pathOf(id), 'scopes');
  }

  /** Returns the key that this client uses. */
  mine(): Promise<KeyRecord> {
    return this.#requests.one('GET', 'keys/me', 'scopes');
  }

  /** Creates a key. With `include: 'clients'`, the answer also contains set-up lines for each known client program. */
  add(key: NewKeyOptions, included: { readonly include?: 'clients' } = {}): Promise<KeyWithSecret> {
    return this.#requests.one('POST', `keys${queryOf(included)}`, 'key', key);
  }

  /** `opens` are entries of the key's `closed`: groups to open again for the people who joined. */
  change(id: string, changes: KeyOptions & { readonly opens?: readonly ClosedGroup[] }): Promise<KeyRecord> {
    return this.#requests.one('PATCH', pathOf(id), 'scopes', changes);
  }

  rotate(id: string): Promise<KeyWithSecret> {
    return this.#requests.one('POST', `${pathOf(id)}/rotate`, 'key');
  }

  /**
   * Revokes a key at once. Returns how many scheduled and held sends were ended by the revocation; undefined if the
   * service is too old to report the number.
   */
  async revoke(id: string): Promise<KeyRevocation | undefined> {
    const headers = { Prefer: 'handling=strict, return=representation' };
    const { text } = await this.#requests.request('DELETE', pathOf(id), { headers });
    return text === '' ? undefined : (JSON.parse(text) as KeyRevocation);
  }

  /**
   * Returns what would happen to a message sent with this key to the recipient `to`, and whether the key may read the
   * conversation with that recipient.
   */
  check(id: string, to: string): Promise<KeyCheck> {
    return this.#requests.one('GET', `${pathOf(id)}/check?to=${encodeURIComponent(to)}`, 'send');
  }

  audit(filter: AuditFilter = {}): Promise<AuditEntry[]> {
    return this.#requests.list(`audit${queryOf(filter)}`, 'outcome');
  }

  /**
   * Returns an address that signs a browser in, once and within 60 seconds. Works only over
   * `socketPath`.
   */
  signInCode(): Promise<SignInCode> {
    return this.#requests.one('POST', 'sign-in-codes', 'url');
  }
}

/** Manages sends that wait for approval. */
export class ApprovalsApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Returns the conversation with oneself in which the owner decides by tapback. */
  selfChat(): Promise<SelfChatRecord> {
    return this.#requests.one('GET', 'self-chat', 'address');
  }

  /** Sends a code to the conversation with oneself. `proveSelfChat` takes the code. */
  sendSelfChatCode(): Promise<SelfChatRecord> {
    return this.#requests.one('POST', 'self-chat/code', 'address');
  }

  proveSelfChat(code: string): Promise<SelfChatRecord> {
    return this.#requests.one('POST', 'self-chat/prove', 'address', { code });
  }

  /** Lists approvals. If none matches the filter, waits for one, up to `wait` seconds (at most 50). */
  list(
    filter: { readonly state?: ApprovalState; readonly wait?: number; readonly include?: 'contacts' } = {},
  ): Promise<Approval[]> {
    return this.#requests.list(`approvals${queryOf(filter)}`, 'members');
  }

  /** Returns an approval. If it has not ended, waits for its end, up to `wait` seconds (at most 50). */
  get(id: string, filter: { readonly wait?: number } = {}): Promise<Approval> {
    return this.#requests.one('GET', `approvals/${encodeURIComponent(id)}${queryOf(filter)}`, 'members');
  }

  /**
   * Approves a send. `shown` is the hash of the content, from the approval that was read. If the content has changed
   * since then, the service approves nothing.
   */
  approve(id: string, shown: string): Promise<Approval> {
    return this.#requests.one('POST', `approvals/${encodeURIComponent(id)}/approve`, 'members', { shown });
  }

  deny(id: string): Promise<Approval> {
    return this.#requests.one('POST', `approvals/${encodeURIComponent(id)}/deny`, 'members');
  }

  withdraw(id: string): Promise<void> {
    return this.#requests.none('DELETE', `approvals/${encodeURIComponent(id)}`);
  }
}

function pathOf(id: string): string {
  return `keys/${encodeURIComponent(id)}`;
}
