import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const POLICY: ArgumentSpec = { usage: '<POLICY>', help: 'the name or id of a policy' }
const FILE: ArgumentSpec = {
  usage: '<FILE>',
  help: 'a file with the source; "-" reads standard input',
  completionKind: 'file',
}

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description' },
  {
    usage: '--level <LEVEL>',
    help: 'native: hard-mandatory, soft-mandatory or advisory; opa: mandatory or advisory',
  },
  { usage: '--query <QUERY>', help: 'query of an opa policy, such as data.jobs.deny' },
  ORGANIZATION_FLAG,
]

const TRIAL: readonly FlagSpec[] = [
  {
    usage: '--code <FILE>',
    help: 'evaluate this source instead of the stored one',
    completionKind: 'file',
  },
  {
    usage: '--param <KEY=VALUE>',
    help: 'a parameter value',
    isRepeated: true,
  },
  ORGANIZATION_FLAG,
]

export const policyCommands: readonly CommandSpec[] = [
  {
    path: 'policy list',
    summary: 'List the policies of an organization.',
    examples: [{ line: 'reeve policy list --kind opa', says: 'policies of one kind' }],
    flags: [
      { usage: '--kind <KIND>', help: 'native or opa' },
      { usage: '--search <TEXT>', help: 'only names that contain this text' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./policy.ts')).runPolicyList,
  },
  {
    path: 'policy show',
    summary: 'Show a policy, its policy sets and compile errors.',
    examples: [{ line: 'reeve policy show limits', says: 'by its name' }],
    args: [POLICY],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy.ts')).runPolicyShow,
  },
  {
    path: 'policy create',
    summary: 'Create a policy from a file.',
    details:
      'The kind is told by the end of the file, .native or .rego, and the name by its beginning. ' +
      'It is enforced once it is in a policy set: "reeve policy-set add".',
    examples: [
      {
        line: 'reeve policy create limits.native --level hard-mandatory',
        says: 'the policy is named "limits"',
      },
      {
        line: 'reeve policy create deny.rego --query data.jobs.deny --level mandatory --set jobs',
        says: 'and add it to a policy set',
      },
    ],
    args: [FILE],
    flags: [
      { usage: '--name <NAME>', help: 'name of the policy (default: the file name)' },
      { usage: '--kind <KIND>', help: 'native or opa (default: by the file extension)' },
      { usage: '--set <SET>', help: 'add the policy to this set', isRepeated: true },
      ...SETTINGS,
    ],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicyCreate,
  },
  {
    path: 'policy update',
    summary: 'Update the settings of a policy; "upload" replaces its source.',
    examples: [
      {
        line: 'reeve policy update limits --level advisory',
        says: 'set the enforcement level to advisory',
      },
    ],
    args: [POLICY],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicyUpdate,
  },
  {
    path: 'policy upload',
    summary: 'Replace the source of a policy.',
    examples: [{ line: 'reeve policy upload limits limits.native', says: 'from a file' }],
    args: [POLICY, FILE],
    flags: [
      { usage: '--strict', help: 'reject a source that does not compile' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./change.ts')).runPolicyUpload,
  },
  {
    path: 'policy download',
    summary: 'Print the source of a policy.',
    examples: [{ line: 'reeve policy download limits > limits.native', says: 'save it to a file' }],
    args: [POLICY],
    flags: [
      { usage: '--version <ID>', help: 'an earlier version, from "reeve policy versions"' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('./policy.ts')).runPolicyDownload,
  },
  {
    path: 'policy versions',
    summary: 'List the retained versions of a policy, newest first.',
    examples: [
      { line: 'reeve policy versions limits', says: 'upload time and user of each version' },
    ],
    args: [POLICY],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy.ts')).runPolicyVersions,
  },
  {
    path: 'policy delete',
    summary: 'Delete a policy and remove it from all policy sets.',
    examples: [{ line: 'reeve policy delete limits', says: 'asks for confirmation' }],
    args: [POLICY],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runPolicyDelete,
  },
  {
    path: 'policy try',
    summary: 'Evaluate a policy against a document without enforcing it.',
    details:
      'The document is {"job": …} or {"plan": …, "run": …}. Exits with 8 if the policy ' +
      'denies it.',
    examples: [
      { line: 'reeve policy try limits job.json', says: 'evaluate the stored source' },
      {
        line: 'reeve policy try limits job.json --code new.native',
        says: 'evaluate a local source',
      },
      { line: 'reeve policy try limits job.json --param most=3', says: 'with a parameter' },
    ],
    args: [
      POLICY,
      { usage: '<INPUT>', help: 'JSON; "-" reads standard input', completionKind: 'file' },
    ],
    flags: TRIAL,
    isRead: true,
    load: async () => (await import('./trial.ts')).runPolicyTry,
  },
  {
    path: 'policy replay',
    summary: 'Replay a policy against past jobs and runs.',
    examples: [
      { line: 'reeve policy replay limits', says: 'recent jobs and runs, newest first' },
      {
        line: 'reeve policy replay limits --code new.native --limit 100',
        says: 'evaluate a local source',
      },
    ],
    args: [POLICY],
    flags: [{ usage: '--limit <COUNT>', help: 'number of subjects' }, ...TRIAL],
    isRead: true,
    load: async () => (await import('./trial.ts')).runPolicyReplay,
  },
]
