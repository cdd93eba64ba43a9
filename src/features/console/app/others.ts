// The smaller views and the palette. They load together, because a few large files compress better than many small
// ones.

export * as approvals from '../views/approvals/approvals.tsx';
export * as audit from '../views/audit/audit.tsx';
export * as events from '../views/events/events.tsx';
export * as keys from '../views/keys/keys.tsx';
export * as merged from '../views/merged/merged.tsx';
export * as settings from '../views/settings/settings.tsx';
export * as webhooks from '../views/webhooks/webhooks.tsx';
export * as palette from './palette.tsx';
export * as shortcuts from './shortcuts.tsx';
