import type { VNode } from 'preact';
import { thread } from './thread.tsx';

/** The list of messages, and the button that leaves older ones. */
export const ThreadLog = (): VNode => (
  <>
    <ol
      id="message-list"
      class="log scroll"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs a way to scroll it by keyboard.
      tabIndex={0}
      aria-label="Messages, oldest first"
      ref={(list) => {
        if (list !== null) thread.attach(list);
      }}
      onScroll={() => thread.noteScroll()}
    />
    <button
      type="button"
      id="newest-messages"
      class="btn"
      hidden={!thread.hasNewer.value}
      onClick={() => void thread.open(thread.openId)}
    >
      Show the newest messages
    </button>
  </>
);
