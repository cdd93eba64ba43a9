import type { VNode } from 'preact';
import { Button, Empty } from '../../parts/parts.tsx';
import { may } from '../../service/service.ts';
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
    <div id="thread-none">
      <Empty
        icon="chat"
        title="No messages yet"
        text={may('send') ? 'Write the first one below.' : 'They appear here as they arrive.'}
      />
    </div>
    <Button id="newest-messages" hidden={!thread.hasNewer.value} run={() => thread.open(thread.openId)}>
      Show the newest messages
    </Button>
  </>
);
