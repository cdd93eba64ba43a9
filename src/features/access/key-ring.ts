import { hash, randomBytes } from 'node:crypto';
import {
  DEFAULT_CAPS,
  type KeyCheck,
  type KeyDetails,
  type KeyRecord,
  type KeyRevocation,
  MAX_KEYS,
  PRESETS,
  type Remaining,
} from '../../client/key-types.ts';
import { resolveRecipient } from '../../core/model/destination.ts';
import { DAY_MS } from '../../core/model/durations.ts';
import { isChatDbAway } from '../../core/model/errors.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import { type AccessList, LIMITED_KEY, MAX_WAIT_S, SCOPES, type Scope } from '../../core/model/key.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Cancel, Clock } from '../../core/model/ports/host-ports.ts';
import { readLists, shownList } from './key-lists.ts';
import { LimitedKey } from './limited-key.ts';
import { closedGroups, mayRead, maySend } from './policy.ts';
import type { KeyStore, KeyUpdate, NewKey, StoredKey } from './ports.ts';
import { accessProblem } from './problems.ts';
import { isHeld, isNewContact } from './rights.ts';

const LIFETIME_MS = 90 * DAY_MS;
/** How long the previous secret remains valid after a rotation. */
const ROTATION_MS = DAY_MS;
const USE_NOTED_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 60_000;

export interface KeyRingParts {
  readonly store: KeyStore;
  readonly directory: ChatDirectory;
  readonly clock: Clock;
  readonly note: (action: 'key', target: string, outcome: string) => void;
  readonly remaining: (key: KeyDetails) => Remaining;
  /**
   * Called when a key has changed, expired or been revoked. Ends what the key no longer allows. Returns how many held
   * and deferred sends a revocation has ended.
   */
  readonly onChange: (key: LimitedKey, before?: KeyDetails) => Omit<KeyRevocation, 'id'>;
}

/**
 * The limited keys: creates, finds, changes and revokes them. Methods throw `key_not_found` for unknown ids, and
 * `invalid_request` for list entries that match no conversation or person.
 */
export class KeyRing {
  readonly #parts: KeyRingParts;
  readonly #keys = new Map<string, LimitedKey>();
  /** Key: the key id. Value: when the key's last use was stored, in Unix milliseconds. */
  readonly #usedMs = new Map<string, number>();
  #cancelExpiry: Cancel | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    for (const stored of parts.store.list()) this.#keys.set(stored.id, new LimitedKey(stored));
    this.#watchExpiry();
  }

  /** Returns the key with this secret; undefined if the key is unknown, wrong, expired or revoked. */
  find(secret: string): LimitedKey | undefined {
    const id = LIMITED_KEY.exec(secret)?.[1];
    const key = id === undefined ? undefined : this.#keys.get(id);
    if (key === undefined) return undefined;
    const nowMs = this.#parts.clock.now();
    if (!key.isSecret(hash('sha256', secret, 'buffer'), nowMs) || !key.isAlive(nowMs)) return undefined;
    this.#noteUse(key, nowMs);
    return key;
  }

  /** Reports whether a limited key has ever existed. */
  hasEverHad(): boolean {
    return this.#parts.store.hasAny();
  }

  withId(id: string): LimitedKey | undefined {
    return this.#keys.get(id);
  }

  /** Records the use of a valid key through an access token. */
  noteUse(id: string): void {
    this.#noteUse(this.#existing(id), this.#parts.clock.now());
  }

  close(): void {
    this.#cancelExpiry?.();
  }

  list(): readonly KeyRecord[] {
    return [...this.#keys.values()].map(({ stored }) => this.#record(stored));
  }

  get(id: string): KeyRecord {
    return this.#record(this.#existing(id).stored);
  }

  /** Returns the rights of a key, or of the owner. */
  rightsOf(keyId: string): KeyRecord {
    return keyId === OWNER ? OWNERS_KEY : this.get(keyId);
  }

  /** Creates a key. `key` in the result is its secret, which is stored only as a hash and cannot be shown again. */
  add({ name, preset, scopes: given, settings }: NewKey): KeyRecord & { readonly key: string } {
    if (this.#keys.size >= MAX_KEYS) throw accessProblem('too_many_keys', { max: MAX_KEYS });
    const { store, clock } = this.#parts;
    const defaults = preset === undefined ? { scopes: [], approval: 'always' as const } : PRESETS[preset];
    const scopes = SCOPES.filter((scope) => (given ?? [...defaults.scopes]).includes(scope));
    const mistake = mistakeIn(scopes);
    const mistakes = mistake === undefined ? [] : [{ pointer: '/scopes', message: mistake }];
    const lists = readLists(this.#parts.directory, settings, undefined, mistakes);
    const nowMs = clock.now();
    let id = newId();
    while (this.#keys.has(id)) id = newId();
    const secret = newSecret(id);
    const stored: StoredKey = {
      id,
      name,
      scopes,
      read: lists.read ?? [],
      send: lists.send ?? [],
      approval: settings.approval ?? defaults.approval,
      caps: { ...DEFAULT_CAPS, ...settings.caps },
      dry_run: settings.dry_run ?? false,
      created_at: isoSecond(nowMs),
      expires_at: settings.expires_at === undefined ? isoSecond(nowMs + LIFETIME_MS) : settings.expires_at,
      callback_hosts: settings.callback_hosts ?? [],
      max_wait_s: settings.max_wait_s ?? MAX_WAIT_S,
      last_used_at: null,
      hash: digest(secret),
      previous: null,
    };
    store.add(stored);
    this.#keys.set(id, new LimitedKey(stored));
    this.#parts.note('key', id, 'created');
    this.#watchExpiry();
    return { ...this.#record(stored), key: secret };
  }

  change(id: string, changes: KeyUpdate): KeyRecord {
    const key = this.#existing(id);
    const { caps, read: _read, send: _send, opens: _opens, ...others } = changes;
    const lists = readLists(this.#parts.directory, changes, key.stored);
    this.#update(key, { ...key.stored, ...others, ...lists, caps: { ...key.stored.caps, ...caps } }, 'changed');
    return this.#record(key.stored);
  }

  /** Reports the key's rights towards this recipient. Sends nothing. */
  check(id: string, recipient: string): KeyCheck {
    const { stored: key } = this.#existing(id);
    const { directory } = this.#parts;
    const destination = resolveRecipient(directory, recipient);
    const { to = recipient, members = [], chats = [] } = destination ?? {};
    const found = chats.map((guid) => directory.chat(guid)).filter((chat) => chat !== undefined);
    const read = key.scopes.includes('read') && found.some((chat) => mayRead(key.read, chat));
    const refused = { to, members, read, send: 'refused' } as const;
    if (!key.scopes.includes('send')) return { ...refused, reason: 'scope_missing' };
    if (destination === undefined || !maySend(key.send, destination)) {
      return { ...refused, reason: 'recipient_not_allowed' };
    }
    const send = isHeld(key, isNewContact(directory, destination)) ? 'held' : 'allowed';
    return { to, members, read, send, reason: null };
  }

  rotate(id: string): KeyRecord & { readonly key: string } {
    const key = this.#existing(id);
    const secret = newSecret(id);
    const previous = { hash: key.stored.hash, untilMs: this.#parts.clock.now() + ROTATION_MS };
    this.#update(key, { ...key.stored, hash: digest(secret), previous }, 'rotated');
    return { ...this.#record(key.stored), key: secret };
  }

  revoke(id: string): KeyRevocation {
    const key = this.#existing(id);
    const { store, clock, note, onChange } = this.#parts;
    store.revoke(id, isoSecond(clock.now()));
    this.#keys.delete(id);
    note('key', id, 'revoked');
    key.end({ isRevoked: true });
    return { id, ...onChange(key) };
  }

  /** Returns the newest revoked keys. Lists of audit lines and of decided approvals show the names of these keys. */
  revoked(): readonly KeyRecord[] {
    return this.#parts.store.revoked().map(({ hash: _hash, previous: _previous, ...key }) => ({
      ...key,
      read: shownList(key.read),
      send: shownList(key.send),
      remaining: null,
      closed: [],
    }));
  }

  #existing(id: string): LimitedKey {
    const key = this.#keys.get(id);
    if (key === undefined) throw accessProblem('key_not_found');
    return key;
  }

  #update(key: LimitedKey, stored: StoredKey, outcome: string): void {
    const before = key.stored;
    this.#parts.store.update(stored);
    key.stored = stored;
    this.#parts.note('key', stored.id, outcome);
    this.#watchExpiry();
    if (!key.isAlive(this.#parts.clock.now())) key.end({ isRevoked: false });
    this.#parts.onChange(key, before);
  }

  #noteUse(key: LimitedKey, nowMs: number): void {
    const { id } = key.stored;
    if (nowMs - (this.#usedMs.get(id) ?? 0) < USE_NOTED_EVERY_MS) return;
    this.#usedMs.set(id, nowMs);
    const at = isoSecond(nowMs);
    key.stored = { ...key.stored, last_used_at: at };
    this.#parts.store.noteUse(id, at);
  }

  #record({ hash: _hash, previous: _previous, ...key }: StoredKey | (KeyDetails & Partial<StoredKey>)): KeyRecord {
    return {
      ...key,
      read: shownList(key.read),
      send: shownList(key.send),
      remaining: this.#parts.remaining(key),
      closed: this.#closed(key.send),
    };
  }

  /**
   * Returns the groups that the key cannot send to because somebody has joined since the owner listed them. Returns
   * none while chat.db is unreadable: the members are unknown, and the key cannot send to any group.
   */
  #closed(list: AccessList): KeyRecord['closed'] {
    try {
      return closedGroups(list, (id) => this.#parts.directory.meant(id));
    } catch (error) {
      if (isChatDbAway(error)) return [];
      throw error;
    }
  }

  /** Waits for the next key to expire, then ends everything that runs under it. */
  #watchExpiry(): void {
    const { clock, onChange } = this.#parts;
    this.#cancelExpiry?.();
    const nowMs = clock.now();
    const times = [...this.#keys.values()].map(({ expiresMs }) => expiresMs).filter((ms) => ms > nowMs);
    if (times.length === 0) return;
    // Checks at least every minute, because timers do not run while the Mac sleeps.
    this.#cancelExpiry = clock.after(Math.min(Math.min(...times) - nowMs, LOOK_EVERY_MS), () => {
      for (const key of this.#keys.values()) {
        const isOver = key.expiresMs > nowMs && !key.isAlive(clock.now());
        if (!isOver) continue;
        key.end({ isRevoked: false });
        onChange(key);
      }
      this.#watchExpiry();
    });
  }
}

/** The answer of `GET /keys/me` for the owner's key, which is not limited. */
const OWNERS_KEY: KeyRecord = {
  id: OWNER,
  name: OWNER,
  scopes: SCOPES,
  read: '*',
  send: '*',
  approval: 'never',
  caps: null,
  remaining: null,
  dry_run: false,
  created_at: '1970-01-01T00:00:00Z',
  expires_at: null,
  callback_hosts: [],
  max_wait_s: MAX_WAIT_S,
  last_used_at: null,
  closed: [],
};

/**
 * Returns a sentence that says what is wrong with a key's scopes; undefined if nothing is. For example, a key with both
 * `send` and `approve` could approve its own sends.
 */
function mistakeIn(scopes: readonly Scope[]): string | undefined {
  if (scopes.length === 0) return 'A key needs at least one scope, or a preset.';
  if (scopes.includes('approve') && scopes.includes('send')) return 'One key cannot both send and approve.';
  if (scopes.includes('webhooks') && !scopes.includes('events')) {
    return 'The scope `webhooks` needs the scope `events`.';
  }
  return undefined;
}

function newId(): string {
  return randomBytes(4).toString('hex');
}

function newSecret(id: string): string {
  return `postern_${id}_${randomBytes(32).toString('base64url')}`;
}

/** Hashes a secret. A fast hash is enough, because nobody can guess 32 random bytes. */
function digest(secret: string): string {
  return hash('sha256', secret, 'hex');
}
