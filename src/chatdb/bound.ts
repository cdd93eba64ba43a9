/**
 * A number bound to a statement. SQLite built with STAT4 plans anew at every run when a bare `?` stands in a range or
 * a LIMIT, which costs ten times the search itself; the sum hides it.
 */
export const N = '? + 0';
/** A text, for the same reason. */
export const T = "? || ''";
