// The content of a message besides text: links, polls, cards of apps, drawings, places and people.

import type { ComponentChildren, VNode } from 'preact';
import type { AppCard, ContactCard, LinkPreview, LocationPin, Poll } from '../../../../client/content-types.ts';
import type { PartEdits } from '../../../../core/model/content.ts';
import { counted } from '../../../../core/model/figures.ts';
import type { Message } from '../../../../core/model/message.ts';
import type { Names } from '../../../../core/model/names.ts';
import { Meter } from '../../parts/charts.tsx';
import { listed, personOf, timeOf } from '../../service/words.ts';
import { WebLink, webAddress } from './web-link.tsx';

/** Returns the cards of a message, which are shown instead of its text or below it. */
export function cardsOf({ details, names }: Pick<Message, 'details' | 'names'>): VNode | null {
  if (details === undefined) return null;
  const { link, poll, app, attachments } = details;
  return (
    <>
      {link && <LinkCard {...link} />}
      {poll && <PollCard poll={poll} names={names} />}
      {app && <AppBubble {...app} />}
      {attachments.map(({ contact, location, guid, path }) =>
        contact ? (
          <ContactBubble key={guid ?? path} {...contact} />
        ) : location ? (
          <LocationBubble key={guid ?? path} {...location} />
        ) : null,
      )}
    </>
  );
}

interface BubbleProps {
  /** The page that the card leads to. */
  readonly address: URL | undefined;
  readonly children: ComponentChildren;
}

const Bubble = ({ address, children }: BubbleProps): VNode =>
  address === undefined ? (
    <div class="bubble bare card2">{children}</div>
  ) : (
    <WebLink href={address.href} class="bubble bare card2">
      {children}
    </WebLink>
  );

function LinkCard(link: LinkPreview): VNode {
  const { title, summary, site_name: site, placeholder, music, app_store: store, place } = link;
  const address = webAddress(link.url ?? link.original_url);
  const name = title ?? music?.track ?? store?.name ?? place?.name ?? address?.host ?? 'A link';
  const more = music
    ? [music.artist, music.album].filter(Boolean).join(' · ')
    : (store?.subtitle ?? place?.address ?? summary);
  return (
    <Bubble address={address}>
      <b class="cut2" dir="auto">
        {name}
      </b>
      {more && (
        <span class="cut2 small soft" dir="auto">
          {more}
        </span>
      )}
      <span class="small quiet cut">
        {placeholder ? 'Messages is still fetching this preview' : (address?.host ?? site ?? '')}
      </span>
    </Bubble>
  );
}

function PollCard({
  poll: { question, options },
  names,
}: {
  readonly poll: Poll;
  readonly names?: Names | undefined;
}): VNode {
  const most = Math.max(1, ...options.map(({ votes }) => votes.length));
  return (
    <div class="bubble bare poll">
      <b dir="auto">{question ?? 'Poll'}</b>
      <ul class="stack">
        {options.map(({ id, text = 'An option', votes }) => {
          const voters = listed(votes.map((one) => (one === '' ? 'You' : personOf(one, names))));
          const label = `${text}: ${counted(votes.length, 'vote')}${voters === '' ? '' : `, ${voters}`}`;
          return (
            <li key={id} class="stack tight" title={voters || undefined}>
              <span class="row">
                <span class="grow" dir="auto">
                  {text}
                </span>
                <span class="num small">{votes.length}</span>
              </span>
              <Meter share={votes.length / most} title={label} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function AppBubble(app: AppCard): VNode {
  const { name, title, subtitle, caption, subcaption, summary, check_in: checkIn, business } = app;
  const texts = [
    caption,
    subcaption,
    title,
    subtitle,
    summary,
    business?.title,
    business?.subtitle,
    business?.selected,
  ];
  const times = [
    checkIn?.expected_at && `Expected ${timeOf(checkIn.expected_at)}`,
    checkIn?.overdue_at && `Overdue since ${timeOf(checkIn.overdue_at)}`,
  ].filter(Boolean);
  const [first = name ?? 'A card', ...others] = [...new Set(texts)].filter(Boolean);
  return (
    <Bubble address={webAddress(app.url)}>
      <b class="cut2" dir="auto">
        {first}
      </b>
      {[...others, ...times].map((line) => (
        <span key={line} class="cut2 small soft" dir="auto">
          {line}
        </span>
      ))}
      <span class="small quiet cut">{name ?? app.type.replaceAll('_', ' ')}</span>
    </Bubble>
  );
}

const ContactBubble = ({ name, organization, phones, emails }: ContactCard): VNode => (
  <div class="bubble bare card2">
    <b dir="auto">{name ?? organization ?? 'A contact'}</b>
    {[...phones, ...emails].map((one) => (
      <bdi key={one} class="small soft">
        {one}
      </bdi>
    ))}
    <span class="small quiet">Contact</span>
  </div>
);

const LocationBubble = ({ name, latitude, longitude, url }: LocationPin): VNode => (
  <Bubble address={webAddress(url)}>
    <b dir="auto">{name ?? 'A place'}</b>
    {latitude !== undefined && longitude !== undefined && (
      <span class="small soft num">{`${latitude}, ${longitude}`}</span>
    )}
    <span class="small quiet">Location</span>
  </Bubble>
);

export const History = ({ texts }: { readonly texts: PartEdits['history'] }): VNode => (
  <ol class="history">
    {texts.map(({ at, text }, index) => (
      <li key={`${at} ${index}`} dir="auto">
        {text ?? 'A text that cannot be read'}
        {at && <time class="quiet small">{` ${timeOf(at)}`}</time>}
      </li>
    ))}
  </ol>
);
