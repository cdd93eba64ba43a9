/** A value that the first call makes. */
export interface MadeOnce<Value> {
  (): Promise<Value>;
  /** Waits for the value if a call has begun to make it. Returns undefined if none has, or making it failed. */
  readonly ifMade: () => Promise<Value | undefined>;
}

/** Returns a function that calls `make` until it succeeds, and then returns the same value. */
export function madeOnce<Value>(make: () => Promise<Value>): MadeOnce<Value> {
  let made: Promise<Value> | undefined;
  const get = async (): Promise<Value> => {
    made ??= make();
    try {
      return await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
  return Object.assign(get, { ifMade: async () => made?.catch(() => undefined) });
}
