import type { CommandSpec } from '../command.ts'
import { AUDIT_FLAGS } from './flags.ts'

export const auditCommands: readonly CommandSpec[] = [
  {
    path: 'audit list',
    summary: 'List who wrote what on both APIs, the newest first.',
    details: 'Refusals are in it too. Needs a management token; "org audit" is for owners.',
    examples: [
      { line: 'reeve audit list --since 1h', says: 'the last hour' },
      { line: 'reeve audit list --action stopJob --resource web', says: 'who stopped this job' },
    ],
    flags: AUDIT_FLAGS,
    isRead: true,
    load: async () => (await import('./audit.ts')).runAuditList,
  },
]
