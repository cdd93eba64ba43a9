import { CAPABLE_MEMBERS } from './send-service.ts';

/** Reasons why a capability is unavailable. Clients must expect reasons that they do not know. */
export const CAPABILITY_REASONS = [
  /** Messages has no AppleScript command for the capability. */
  'not_scriptable',
  /** The chat.db of this macOS lacks the column that the capability needs. */
  'macos_too_old',
  /** A setting of config.toml switches the capability off. */
  'switched_off',
  /** macOS does not allow the capability. `permissions` in the service's status says which permission is missing. */
  'not_permitted',
  /** The Messages database is currently unreadable. */
  'chat_db_unavailable',
] as const;
export type CapabilityReason = (typeof CAPABILITY_REASONS)[number];

export interface Capability {
  readonly available: boolean;
  /** Absent if the capability is available. */
  readonly reason?: CapabilityReason | undefined;
}

/**
 * The capabilities of this service, its Mac and its macOS. Key: the capability's name. Clients must expect names that
 * they do not know.
 */
export type Capabilities = Readonly<Record<string, Capability>>;

/** Features that Messages offers only to people, not to scripts (docs/troubleshooting.md). */
const NOT_SCRIPTABLE = [
  'react',
  'reply',
  'edit',
  'unsend',
  'mark_read',
  'show_typing',
  'send_effect',
  'create_group',
  'delete',
] as const;

/** Columns of chat.db's table `message`. Key: the capability that needs the column. */
const COLUMNS = {
  read_replies: 'thread_originator_guid',
  read_edits: 'date_edited',
  read_emoji_reactions: 'associated_message_emoji',
  read_scheduled_on_phone: 'schedule_type',
  read_junk_filter: 'filter_action',
} as const;

export interface CapabilityFacts {
  /** Reports whether chat.db's table `message` has a column. Undefined while chat.db is unreadable. */
  readonly hasColumn: ((name: string) => boolean) | undefined;
  readonly maySend: boolean;
  /** The capabilities that features have, and whether they are switched on. */
  readonly ofFeatures: Readonly<Record<string, boolean>>;
}

/** Returns the capabilities of a Postern that serves a single Mac. */
export function macCapabilities({ hasColumn, maySend, ofFeatures }: CapabilityFacts): Capabilities {
  return {
    ...all(['send', ...CAPABLE_MEMBERS], maySend ? undefined : 'not_permitted'),
    ...all(NOT_SCRIPTABLE, 'not_scriptable'),
    ...Object.fromEntries(
      Object.entries(COLUMNS).map(([name, column]) => {
        if (hasColumn === undefined) return [name, capability('chat_db_unavailable')];
        return [name, capability(hasColumn(column) ? undefined : 'macos_too_old')];
      }),
    ),
    ...Object.fromEntries(
      Object.entries(ofFeatures).map(([name, isOn]) => [name, capability(isOn ? undefined : 'switched_off')]),
    ),
  };
}

function all(names: readonly string[], reason: CapabilityReason | undefined): Capabilities {
  return Object.fromEntries(names.map((name) => [name, capability(reason)]));
}

function capability(reason: CapabilityReason | undefined): Capability {
  return reason === undefined ? { available: true } : { available: false, reason };
}
