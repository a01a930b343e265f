import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const POLICY: ArgumentSpec = { usage: '<POLICY>', help: 'the name or id of a policy' }
const FILE: ArgumentSpec = {
  usage: '<FILE>',
  help: 'its code; "-" reads standard input',
  completes: 'file',
}

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'what it is for' },
  {
    usage: '--level <LEVEL>',
    help: 'native: hard-mandatory, soft-mandatory or advisory; opa: mandatory or advisory',
  },
  { usage: '--query <QUERY>', help: 'what a policy of kind opa is asked, such as data.jobs.deny' },
  ORGANIZATION_FLAG,
]

const TRIAL: readonly FlagSpec[] = [
  { usage: '--code <FILE>', help: 'code to ask in place of the stored one', completes: 'file' },
  {
    usage: '--param <KEY=VALUE>',
    help: 'a parameter, as "reeve policy-set param" would set it',
    isRepeated: true,
  },
  ORGANIZATION_FLAG,
]

export const policyCommands: readonly CommandSpec[] = [
  {
    path: 'policy list',
    summary: 'List the policies of an organization.',
    examples: [{ line: 'reeve policy list --kind opa', says: 'of one language' }],
    flags: [
      { usage: '--kind <KIND>', help: 'native or opa' },
      { usage: '--search <TEXT>', help: 'only names with this in them' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./policy.ts')).runPolicyList,
  },
  {
    path: 'policy show',
    summary: 'Show a policy, its sets, and what is wrong with its code.',
    examples: [{ line: 'reeve policy show limits', says: 'by its name' }],
    args: [POLICY],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy.ts')).runPolicyShow,
  },
  {
    path: 'policy create',
    summary: 'Make a policy from a file and upload its code.',
    details:
      'The kind is told by the end of the file, .native or .rego, and the name by its beginning. ' +
      'It is enforced once it is in a policy set: "reeve policy-set add".',
    examples: [
      { line: 'reeve policy create limits.native --level hard-mandatory', says: 'called "limits"' },
      {
        line: 'reeve policy create deny.rego --query data.jobs.deny --level mandatory --set jobs',
        says: 'in a set at once',
      },
    ],
    args: [FILE],
    flags: [
      { usage: '--name <NAME>', help: 'its name, when not that of the file' },
      { usage: '--kind <KIND>', help: 'native or opa, when the file does not tell' },
      { usage: '--set <SET>', help: 'a policy set it goes into', isRepeated: true },
      ...SETTINGS,
    ],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicyCreate,
  },
  {
    path: 'policy update',
    summary: 'Change the record of a policy; "upload" changes its code.',
    examples: [{ line: 'reeve policy update limits --level advisory', says: 'only warn' }],
    args: [POLICY],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicyUpdate,
  },
  {
    path: 'policy upload',
    summary: 'Replace the code of a policy.',
    examples: [{ line: 'reeve policy upload limits limits.native', says: 'from a file' }],
    args: [POLICY, FILE],
    flags: [
      { usage: '--strict', help: 'refuse code that cannot be compiled, and keep the old' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicyUpload,
  },
  {
    path: 'policy download',
    summary: 'Write the code of a policy to standard output, byte for byte.',
    examples: [{ line: 'reeve policy download limits > limits.native', says: 'into a file' }],
    args: [POLICY],
    flags: [
      { usage: '--version <ID>', help: 'an earlier upload; "reeve policy versions" lists them' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('./policy.ts')).runPolicyDownload,
  },
  {
    path: 'policy versions',
    summary: 'List the uploads of a policy that are kept, the newest first.',
    examples: [
      { line: 'reeve policy versions limits', says: 'when each was uploaded, and by whom' },
    ],
    args: [POLICY],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy.ts')).runPolicyVersions,
  },
  {
    path: 'policy delete',
    summary: 'Delete a policy; it leaves all its sets.',
    examples: [{ line: 'reeve policy delete limits', says: 'after asking' }],
    args: [POLICY],
    flags: [{ usage: '-y, --yes', help: 'do not ask' }, ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runPolicyDelete,
  },
  {
    path: 'policy try',
    summary: 'Ask a policy about a document, without enforcing anything.',
    details: 'The document is {"job": …} or {"plan": …, "run": …}. Ends with 8 when it says no.',
    examples: [
      { line: 'reeve policy try limits job.json', says: 'as it is stored' },
      { line: 'reeve policy try limits job.json --code new.native', says: 'with other code' },
      { line: 'reeve policy try limits job.json --param most=3', says: 'with a parameter' },
    ],
    args: [POLICY, { usage: '<INPUT>', help: 'JSON; "-" reads standard input', completes: 'file' }],
    flags: TRIAL,
    isRead: true,
    load: async () => (await import('./trial.ts')).runPolicyTry,
  },
  {
    path: 'policy replay',
    summary: 'Say what a policy would have denied of what has happened.',
    examples: [
      { line: 'reeve policy replay limits', says: 'jobs and runs, the newest first' },
      { line: 'reeve policy replay limits --code new.native --limit 100', says: 'with other code' },
    ],
    args: [POLICY],
    flags: [{ usage: '--limit <COUNT>', help: 'how many are judged' }, ...TRIAL],
    isRead: true,
    load: async () => (await import('./trial.ts')).runPolicyReplay,
  },
]
