/** One problem that a client can receive. `{name}` in its sentences is filled in when it is thrown. */
export interface ProblemText {
  readonly status: number;
  /** The stable code, if it differs from the name in the catalogue. */
  readonly code?: string;
  readonly detail: string;
  /** Advice for the reader. */
  readonly hint?: string;
  /** The place of the mistake, as in `Mistake`. If absent, a 400 concerns the whole body or request. */
  readonly pointer?: string;
  /** Example values for `{name}` and for members that this problem adds. Used in the documentation. */
  readonly example?: Readonly<Record<string, string | number>>;
  readonly extra?: Readonly<Record<string, unknown>>;
}
