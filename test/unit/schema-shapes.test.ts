import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { conversationSchema } from '../../src/core/http/conversations/answers.ts';
import { conversationQuery } from '../../src/core/http/conversations/schema.ts';
import { eventSchema } from '../../src/core/http/events/answers.ts';
import { messageQuery, sendBody } from '../../src/core/http/messages/schema.ts';
import { problemSchema } from '../../src/core/http/openapi/problem-schema.ts';
import { healthSchema } from '../../src/core/http/status/answers.ts';
import { webhookSchema } from '../../src/core/http/webhooks/answers.ts';
import { webhookBody } from '../../src/core/http/webhooks/schema.ts';
import { messageSchema } from '../../src/core/schema/message-schema.ts';
import { CONVERSATION, MESSAGE } from '../support/http-gateway.ts';

describe('the schemas', () => {
  test('accept what the service shows', () => {
    expect(messageSchema.parse(MESSAGE)).toEqual(MESSAGE);
    expect(conversationSchema.parse(CONVERSATION)).toEqual(CONVERSATION);
    expect(eventSchema.safeParse({ type: 'message.sent', data: MESSAGE }).success).toBe(true);
    expect(eventSchema.safeParse({ type: 'reaction.added', data: MESSAGE }).success).toBe(false);
    expect(messageSchema.safeParse({ ...MESSAGE, timestamp: '2026-01-02T03:04:05.678Z' }).success).toBe(false);
  });

  test('can all be written as JSON Schema', () => {
    for (const shown of [messageSchema, conversationSchema, eventSchema, healthSchema, problemSchema, webhookSchema]) {
      expect(z.toJSONSchema(shown, { io: 'output' })).toHaveProperty('$schema');
    }
    for (const read of [sendBody, webhookBody, messageQuery, conversationQuery]) {
      expect(z.toJSONSchema(read, { io: 'input' })).toHaveProperty('$schema');
    }
  });
});
