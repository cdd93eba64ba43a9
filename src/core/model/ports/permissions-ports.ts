/** Why a permission is missing, as a code for programs. `detail` explains it to the user. */
export const PERMISSION_REASONS = [
  /** macOS is showing the permission dialog, or Messages has not answered yet. */
  'asking',
  /** The user refused the permission, in a dialog just now or at an earlier time. */
  'refused',
  /** macOS refused the permission at once, without showing a dialog. */
  'no_dialog',
  /** Messages is not running and could not be opened. */
  'messages_closed',
  /**
   * Postern has not requested this permission yet. Postern first waits for Full Disk Access, so that two dialogs do not
   * cover each other.
   */
  'not_asked',
  /** The request to Messages failed, or Messages did not answer in time. */
  'failed',
] as const;
export type PermissionReason = (typeof PERMISSION_REASONS)[number];

/** The state of one macOS permission when Postern last checked it. */
export interface PermissionReport {
  readonly name: 'full_disk_access' | 'automation';
  readonly state: 'granted' | 'denied' | 'unknown';
  readonly detail: string;
  /** Absent if `state` is `granted`, or if no reason is known. */
  readonly reason?: PermissionReason | undefined;
}

/** The last call from Postern that Messages answered, and how long the answer took. */
export interface MessagesAnswer {
  /** Milliseconds that the call took, including the time to start osascript. */
  readonly answer_ms: number;
  readonly checked_at: string;
}

export interface Permissions {
  /** Undefined until Messages has answered a call. */
  readonly answer: MessagesAnswer | undefined;
  /** The last known state of each permission that Postern has checked. */
  readonly known: readonly PermissionReport[];
  fullDiskAccess(): Promise<PermissionReport>;
  /**
   * Checks whether Postern may control Messages, with a read-only script that may make macOS show its permission
   * dialog. Returns a report with the reason `asking` if there is no answer after 20 s.
   */
  automation(): Promise<PermissionReport>;
}
