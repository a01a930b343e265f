import type { FlagSpec } from '../command.ts'

/** Flags that filter an audit trail. */
export const AUDIT_FILTER_FLAGS: readonly FlagSpec[] = [
  { usage: '--actor <ID>', help: 'only requests of the actor with this ID' },
  { usage: '--action <NAME>', help: 'only this operation, such as registerJob' },
  { usage: '--resource <NAME>', help: 'only requests on the resource with this ID or name' },
  {
    usage: '--since <TIME>',
    help: 'only requests after this time: "2h" for two hours ago, or 2030-01-31T12:00:00Z',
  },
  { usage: '--until <TIME>', help: 'only requests before this time, in the same form' },
  { usage: '--count <NUMBER>', help: 'number of entries (default: 50)' },
]
