import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { conversationQuery } from '../../src/core/schema/conversation-request.ts';
import { conversationSchema } from '../../src/core/schema/conversation-schema.ts';
import { eventSchema } from '../../src/core/schema/event-schema.ts';
import { healthSchema } from '../../src/core/schema/health-schema.ts';
import { messageQuery, sendBody } from '../../src/core/schema/message-request.ts';
import { messageSchema } from '../../src/core/schema/message-schema.ts';
import { problemSchema } from '../../src/core/schema/problem-schema.ts';
import { webhookBody } from '../../src/core/schema/webhook-request.ts';
import { webhookSchema } from '../../src/core/schema/webhook-schema.ts';
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
