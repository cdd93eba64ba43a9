interface Text {
  /** The stable code, if it differs from the name in the catalogue. */
  readonly code?: string;
  readonly detail: string;
  /** One sentence that tells the client what to do about the problem. */
  readonly hint?: string;
  /**
   * JSON pointer to the member that is wrong, as in `Mistake`. Without it, a problem with status 400 concerns the whole
   * body or request.
   */
  readonly pointer?: string;
  /**
   * Example values for each `{name}`, and for the members that this problem adds to the answer. Used in the
   * documentation.
   */
  readonly example?: Readonly<Record<string, string | number>>;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Statuses that refuse a request before any of it is carried out, so that nothing was sent. */
type RefusedStatus = 400 | 401 | 403 | 404 | 405 | 408 | 410 | 413 | 415 | 416 | 422 | 426 | 429 | 431;

/**
 * One problem that a client can receive. Each `{name}` in its `detail` is replaced by a value when the problem is
 * thrown.
 */
export type ProblemText = Text &
  (
    | { readonly status: RefusedStatus; readonly mayHaveBeenSent?: never }
    | {
        readonly status: 409 | 500 | 501 | 502 | 503 | 504 | 507;
        /** True if a message may have been sent although its send failed with this problem. */
        readonly mayHaveBeenSent: boolean;
      }
  );
