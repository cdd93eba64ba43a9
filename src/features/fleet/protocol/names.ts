/**
 * The form of a member's name. Without capitals and dots, so that no member has a hub's inbox or another's subjects.
 */
export const MEMBER = /^[a-z0-9-]{1,32}$/;
/** The form of a machine's name. */
export const MACHINE = /^[a-z0-9-]{1,40}$/;

/** Advice for two machines of one member with the same name. */
export const ONE_NAME_EACH =
  'Stop one of the two, or give it another name: "machine" under [fleet] in its config.toml.';

/** Returns whether a member may have this name. `all` is in subjects of all members. */
export function isMember(name: string): boolean {
  return MEMBER.test(name) && name !== 'all';
}
