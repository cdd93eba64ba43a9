// Circles with the initials of people.

import type { VNode } from 'preact';
import { hueOf, initialsOf } from '../../../core/model/avatar.ts';
import type { Face } from '../service/directory.ts';
import { classes } from './parts.tsx';

type Size = 's' | 'xl' | undefined;

/** A circle with initials. Its colour follows `id`, so that it stays the same when the name changes. */
export const Avatar = ({ name, id, size }: Face & { readonly size?: Size }): VNode => (
  <span class={classes('avatar', size)} data-hue={hueOf(id)} aria-hidden="true">
    {initialsOf(name)}
  </span>
);

/** The avatars of the first two people; one for a single person. */
export function Faces({ people, size }: { readonly people: readonly Face[]; readonly size?: Size }): VNode {
  const [first = { name: '?', id: '' }, second] = people;
  if (second === undefined) return <Avatar {...first} size={size} />;
  return (
    <span class={classes('pair', size)}>
      <Avatar {...first} />
      <Avatar {...second} />
    </span>
  );
}
