/** The reason for a missing permission, for programs. `detail` explains it to a person. */
export const PERMISSION_REASONS = [
  /** macOS is asking on the screen, or Messages has not answered yet. */
  'asking',
  /** Refused by the person, now or earlier. */
  'refused',
  /** Refused by macOS at once, without a visible dialog. */
  'no_dialog',
  /** Messages is not running and could not be opened. */
  'messages_closed',
  /** Full Disk Access comes first, so that two dialogs do not cover each other. */
  'not_asked',
  /** The question failed, or got no answer. */
  'failed',
] as const;
export type PermissionReason = (typeof PERMISSION_REASONS)[number];

/** State of one macOS permission, as far as it is known without asking. */
export interface PermissionReport {
  readonly name: 'full_disk_access' | 'automation';
  readonly state: 'granted' | 'denied' | 'unknown';
  readonly detail: string;
  /** Absent if granted, and if there is nothing to add to `state`. */
  readonly reason?: PermissionReason | undefined;
}

export interface Permissions {
  /** The last known state; empty before the first question. */
  readonly known: readonly PermissionReport[];
  fullDiskAccess(): Promise<PermissionReport>;
  /**
   * Runs a harmless read-only script, which may make macOS ask the person. `asking` if nobody has answered after 20
   * s.
   */
  automation(): Promise<PermissionReport>;
}
