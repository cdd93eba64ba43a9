// The form for signing in with a key.

import { signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { limited } from '../parts/frame.ts';
import { CodeLine } from '../parts/parts.tsx';
import { isRemembered } from '../service/kept-key.ts';
import { placeName, WAY_BACK } from '../service/place.ts';
import { commandOf, ownersWords } from '../service/service.ts';
import { limitWords } from './shell.tsx';

/** Why signing in failed; empty if it did not. */
export const refusal = signal('');
/** True while the service is asked whether it knows the key. */
export const isEntering = signal(false);
/** True while the Mac of this page does not answer. */
export const isMacAway = signal(false);
/** The state of the service, which the page shows also without a key. */
export const health = signal<{ readonly isGood: boolean; readonly text: string } | undefined>(undefined);
export const keyField = createRef<HTMLInputElement>();
export const rememberField = createRef<HTMLInputElement>();

/** Reports whether nobody is typing another key into the form. */
export const isUntouched = (key: string): boolean => ['', key].includes(keyField.current?.value ?? '');

/** The address of the icon, which the service has given a version. */
const ICON = document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href;

/** The page's service says that it is a hub, before anybody has signed in. */
const NAME = document.documentElement.dataset.hub === undefined || placeName !== undefined ? 'Postern' : 'the hub';

const KeyFields = (): VNode => (
  <div class="field">
    <label for="key">Key</label>
    <input
      id="key"
      ref={keyField}
      class="input mono"
      type="password"
      autocomplete="current-password"
      spellcheck={false}
      required
      aria-invalid={refusal.value !== ''}
      aria-describedby="key-error key-hint"
    />
    <p id="key-error" class="err" role="alert">
      {limited.value === undefined ? (
        refusal.value || null
      ) : (
        <span role="timer">
          {limitWords(limited.value, isEntering.value ? 'Signing in automatically' : 'Continuing')}
        </span>
      )}
    </p>
    <p id="key-hint" class="hint">
      From <code>{commandOf('config key')}</code>, or a limited key.
      {ownersWords() === undefined && (
        <>
          {' '}
          In a demo, add <code class="nowrap">--demo</code> to both. If <code>postern</code> is not found, its terminal
          shows the whole command.
        </>
      )}
    </p>
  </div>
);

const SignInButton = (): VNode => (
  <button type="submit" class="btn first" id="sign-in-button" aria-busy={isEntering.value}>
    Sign in
  </button>
);

/** Calls `enter` with the key in the form. */
export const SignIn = ({ enter }: { readonly enter: (key: string) => Promise<void> }): VNode => (
  <div class="box">
    <img src={ICON} alt="" width={52} height={52} />
    <div class="stack">
      <h1 id="sign-in-title">{isMacAway.value ? `${placeName} does not answer` : `Sign in to ${NAME}`}</h1>
      <p class="quiet" id="sign-in-place">
        {`At ${location.host}${placeName === undefined ? '' : `, for the Mac ${placeName}`}. This page connects to nothing else.`}
      </p>
    </div>
    {!isMacAway.value && (
      <>
        <div class="stack" id="sign-in-command">
          <p>Run this where Postern runs. It opens this page, signed in:</p>
          <CodeLine text={commandOf('open')} />
        </div>
        <p class="or">or</p>
        <form
          id="key-form"
          class="stack loose"
          onSubmit={(event) => {
            event.preventDefault();
            void enter(keyField.current?.value ?? '');
          }}
        >
          <KeyFields />
          <label class="check">
            <input id="remember" ref={rememberField} type="checkbox" defaultChecked={isRemembered()} />{' '}
            <span>Keep me signed in on this device</span>
          </label>
          <SignInButton />
        </form>
      </>
    )}
    {placeName !== undefined && (
      <p>
        <a href={WAY_BACK}>All Macs</a>
      </p>
    )}
    <p class="quiet small row" id="sign-in-health">
      {health.value && (
        <>
          <span class={`dot ${health.value.isGood ? 'good' : 'bad'}`} />
          {health.value.text}
        </>
      )}
    </p>
  </div>
);
