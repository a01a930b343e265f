import type { CommandSpec, FlagSpec } from '../command.ts'

const FLAGS: readonly FlagSpec[] = [
  { usage: '--from <URL>', help: 'the installation to read' },
  {
    usage: '--from-token <SECRET>',
    help: 'the token to read it with (REEVE_IMPORT_TOKEN)',
  },
  { usage: '--apply', help: 'write it; without this flag nothing is written' },
  { usage: '--overwrite', help: 'also change what the target has with other values' },
]

const DETAILS =
  'Compares both installations and prints what would be written, what differs, what cannot be ' +
  'carried over and why, and which secrets have to be set by hand. With --apply it is written. ' +
  'It may be repeated: what is there already is skipped. The TLS flags count for both servers.'

export const importCommands: readonly CommandSpec[] = [
  {
    path: 'import workload',
    summary: 'Import namespaces, access policies, variables and jobs of another installation.',
    details: `${DETAILS} New jobs are registered as stopped unless --start is given.`,
    examples: [
      {
        line: 'reeve import workload --from https://old.example.com:4646',
        says: 'what would be written',
      },
      {
        line: 'reeve import workload --from https://old.example.com:4646 --apply',
        says: 'writes it; start jobs with "reeve job start"',
      },
    ],
    flags: [...FLAGS, { usage: '--start', help: 'let imported jobs run at once' }],
    isRead: true,
    load: async () => (await import('./import.ts')).runImportWorkload,
  },
  {
    path: 'import governance',
    summary: 'Import organizations with projects, teams, workspaces and policies.',
    details: DETAILS,
    examples: [
      {
        line: 'reeve import governance --from https://old.example.com --organization acme',
        says: 'what would be written',
      },
      {
        line: 'reeve import governance --from https://old.example.com --apply',
        says: 'writes every organization that the token sees',
      },
    ],
    flags: [
      ...FLAGS,
      {
        usage: '--organization <NAME>',
        help: 'only this organization',
        isRepeated: true,
      },
    ],
    isRead: true,
    load: async () => (await import('./import.ts')).runImportGovernance,
  },
]
