import type { FlagSpec } from '../command.ts'

/** What narrows a trail of writes. */
export const AUDIT_FLAGS: readonly FlagSpec[] = [
  { usage: '--actor <ID>', help: 'only writes of whoever has this id' },
  { usage: '--action <NAME>', help: 'only this operation, such as registerJob' },
  { usage: '--resource <NAME>', help: 'only writes of what has this id or name' },
  { usage: '--since <TIME>', help: 'not before this: 2h ago as "2h", or 2030-01-31T12:00:00Z' },
  { usage: '--until <TIME>', help: 'before this, likewise' },
  { usage: '--count <NUMBER>', help: 'the newest ones (default: 50)' },
]
