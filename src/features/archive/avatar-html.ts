import { hueOf, initialsOf } from '../../core/model/avatar.ts';
import { type Html, html } from './html.ts';

/** Renders a circle with the initials of a name, in the colour that the console has for this address. */
export function avatarHtml(name: string, address: string): Html {
  return html`<span class="avatar h${hueOf(address)}" aria-hidden="true">${initialsOf(name)}</span>`;
}
