/** Why a permission is missing, as a code for programs. `detail` explains it to the user. */
export const PERMISSION_REASONS = [
  /** macOS is showing its question, or Messages has not answered yet. */
  'asking',
  /** The user refused, now or earlier. */
  'refused',
  /** Refused by macOS at once, without a visible dialog. */
  'no_dialog',
  /** Messages is not running and could not be opened. */
  'messages_closed',
  /** Not requested yet: Full Disk Access comes first, so that two dialogs do not cover each other. */
  'not_asked',
  /** The request failed, or got no answer. */
  'failed',
] as const;
export type PermissionReason = (typeof PERMISSION_REASONS)[number];

/** State of one macOS permission, as far as it is known without prompting. */
export interface PermissionReport {
  readonly name: 'full_disk_access' | 'automation';
  readonly state: 'granted' | 'denied' | 'unknown';
  readonly detail: string;
  /** Absent if granted, and if there is nothing to add to `state`. */
  readonly reason?: PermissionReason | undefined;
}

/** The time that Messages took for the last call that it answered. */
export interface MessagesAnswer {
  /** Milliseconds, including the start of osascript. */
  readonly answer_ms: number;
  readonly checked_at: string;
}

export interface Permissions {
  /** Undefined before the first answer. */
  readonly answer: MessagesAnswer | undefined;
  /** The last known state; empty before the first check. */
  readonly known: readonly PermissionReport[];
  fullDiskAccess(): Promise<PermissionReport>;
  /**
   * Runs a harmless read-only script, which may make macOS prompt the user. Returns `asking` if there is no answer
   * after 20 s.
   */
  automation(): Promise<PermissionReport>;
}
