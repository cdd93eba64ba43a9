export interface ExportProgress {
  readonly step: 'rows' | 'pages';
  readonly done: number;
  readonly total: number;
}

/** The result of a run. */
export interface ExportReport {
  /** Number of rows of chat.db that were read. */
  rows: number;
  /** Number of lines for messages and reactions that are new in the archive. */
  added: number;
  /** Number of lines for rows that have changed. */
  changed: number;
  /** Number of lines for rows that are gone from chat.db. */
  removed: number;
  /** Number of attachments stored. `fileBytes` is their total size in bytes. */
  files: number;
  fileBytes: number;
  /** Numbers of this run's attachments that were not stored. Key: the reason. */
  missing: Record<string, number>;
  notConverted: number;
  /** Numbers of rows that a damaged chat.db could not return. Key: the table. `warnings` names the rows. */
  unreadable: Readonly<Record<string, number>>;
  /** Number of rows last seen in another chat.db than this one; 0 if the run was limited by conversation or date. */
  elsewhere: number;
  warnings: string[];
  isInterrupted: boolean;
  /** The hash over the whole archive, from `sealOf`; "" if the run was interrupted. */
  seal: string;
}

/** Returns the report of a run that has done nothing yet. */
export function emptyReport(): ExportReport {
  return {
    rows: 0,
    added: 0,
    changed: 0,
    removed: 0,
    files: 0,
    fileBytes: 0,
    missing: {},
    notConverted: 0,
    unreadable: {},
    elsewhere: 0,
    warnings: [],
    isInterrupted: false,
    seal: '',
  };
}
