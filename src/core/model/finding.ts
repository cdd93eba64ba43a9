/** The result of one check. `unknown` means that the check could not be made, which is not a fault in itself. */
export interface Finding {
  /** Stable, snake_case. */
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem' | 'unknown';
  readonly sentence: string;
  /** One or two sentences; null if there is nothing to do. */
  readonly what_to_do: string | null;
}

export function ok(name: string, sentence: string): Finding {
  return { name, state: 'ok', sentence, what_to_do: null };
}

export function finding(state: Finding['state'], name: string, sentence: string, whatToDo: string | null): Finding {
  return { name, state, sentence, what_to_do: whatToDo };
}

/** Returns a fault, and what to do about it. */
export function fault(name: string, sentence: string, whatToDo: string | null): Finding {
  return finding('problem', name, sentence, whatToDo);
}

/** Returns the finding of a check that could not be made. The user need not do anything. */
export function unsure(name: string, sentence: string): Finding {
  return finding('unknown', name, sentence, null);
}
