/** Why a permission is not there, for programs; `detail` says the same to a person. */
export const PERMISSION_REASONS = [
  /** macOS is asking on the screen, or Messages has not answered yet. */
  'asking',
  /** Refused by the person, now or earlier. */
  'refused',
  /** Refused by macOS at once: no dialog can have been seen. */
  'no_dialog',
  /** Messages is not running and could not be opened. */
  'messages_closed',
  /** Full Disk Access comes first, so that two dialogs do not cover each other. */
  'not_asked',
  /** The question could not be asked, or was not answered. */
  'failed',
] as const;
export type PermissionReason = (typeof PERMISSION_REASONS)[number];

/** State of one macOS permission as far as it can be known without asking. */
export interface PermissionReport {
  readonly name: 'full_disk_access' | 'automation';
  readonly state: 'granted' | 'denied' | 'unknown';
  readonly detail: string;
  /** Absent when granted, and where there is nothing to add to `state`. */
  readonly reason?: PermissionReason | undefined;
}

export interface Permissions {
  /** As last found; empty before the first question. */
  readonly known: readonly PermissionReport[];
  fullDiskAccess(): Promise<PermissionReport>;
  /** Runs a harmless read-only script: may make macOS ask the person. `asking` when nobody has answered after 20 s. */
  automation(): Promise<PermissionReport>;
}
