/** State of one macOS permission as far as it can be known without asking. */
export interface PermissionReport {
  readonly name: 'full_disk_access' | 'automation';
  readonly state: 'granted' | 'denied' | 'unknown';
  readonly detail: string;
}

export interface Permissions {
  fullDiskAccess(): Promise<PermissionReport>;
  /** Runs a harmless read-only script: may make macOS ask the person. */
  automation(): Promise<PermissionReport>;
}
