import type { Connection } from './chatdb/connection.ts';

/**
 * The part of a feature that runs in the reader thread: its objects whose methods the main thread calls. An object is
 * made, and its code loaded, at the first call. Key: the name by which it is called. `close` of an object is called
 * when the thread ends.
 */
export type RowFeature<Targets extends object = object> = (connection: Connection) => {
  readonly [Name in keyof Targets]: () => Targets[Name] | Promise<Targets[Name]>;
};
