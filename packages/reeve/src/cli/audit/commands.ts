import type { CommandSpec } from '../command.ts'
import { AUDIT_FILTER_FLAGS } from './flags.ts'

export const auditCommands: readonly CommandSpec[] = [
  {
    path: 'audit list',
    summary: 'List the audit trail of both APIs, newest first.',
    details:
      'Includes denied requests. Requires a management token; owners of an organization use ' +
      '"org audit".',
    examples: [
      { line: 'reeve audit list --since 1h', says: 'the last hour' },
      {
        line: 'reeve audit list --action stopJob --resource web',
        says: 'requests that stopped this job',
      },
    ],
    flags: AUDIT_FILTER_FLAGS,
    isRead: true,
    load: async () => (await import('./audit.ts')).runAuditList,
  },
]
