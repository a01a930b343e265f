import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'
import { ORGANIZATION_FLAG } from './flags.ts'

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
      'The file name determines the name and the kind of the policy (.native or .rego). ' +
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
    load: async () => (await import('./policy.ts')).runPolicyCreate,
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
    load: async () => (await import('./policy.ts')).runPolicyUpdate,
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
    load: async () => (await import('./policy.ts')).runPolicyUpload,
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
    load: async () => (await import('./policy.ts')).runPolicyDelete,
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
    load: async () => (await import('./policy.ts')).runPolicyTry,
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
    load: async () => (await import('./policy.ts')).runPolicyReplay,
  },
]

const SET: ArgumentSpec = { usage: '<SET>', help: 'the name or id of a policy set' }

const MEMBERS: readonly FlagSpec[] = [
  { usage: '--policy <POLICY>', help: 'a policy', isRepeated: true },
  { usage: '--project <PROJECT>', help: 'apply the set to this project', isRepeated: true },
  { usage: '--workspace <WORKSPACE>', help: 'apply the set to this workspace', isRepeated: true },
  {
    usage: '--jobs-of <NAMESPACE>',
    help: 'apply the set to the jobs of this namespace',
    isRepeated: true,
    completionKind: 'namespace',
  },
  { usage: '--except-project <PROJECT>', help: 'exclude this project', isRepeated: true },
  {
    usage: '--except-workspace <WORKSPACE>',
    help: 'exclude this workspace',
    isRepeated: true,
  },
  ORGANIZATION_FLAG,
]

const COMMANDS_SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description' },
  {
    usage: '--global',
    help: 'apply the set to all projects of the organization, with their workspaces and namespaces',
  },
  { usage: '--no-global', help: 'apply the set only to what is named' },
  { usage: '--overridable', help: 'allow overrides of failed policies' },
  { usage: '--no-overridable', help: 'do not allow overrides of failed policies' },
]

export const policySetCommands: readonly CommandSpec[] = [
  {
    path: 'policy-set list',
    summary: 'List policy sets.',
    examples: [{ line: 'reeve policy-set list', says: 'with their scope' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetList,
  },
  {
    path: 'policy-set show',
    summary: 'Show a policy set: policies, scope and parameters.',
    examples: [{ line: 'reeve policy-set show jobs', says: 'by its name' }],
    args: [SET],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetShow,
  },
  {
    path: 'policy-set create',
    summary: 'Create a policy set.',
    examples: [
      {
        line: 'reeve policy-set create jobs --jobs-of default',
        says: 'applies to the jobs of a namespace',
      },
      {
        line: 'reeve policy-set create base --kind opa --global',
        says: 'applies to the whole organization',
      },
    ],
    args: [{ usage: '<NAME>', help: 'name' }],
    flags: [
      { usage: '--kind <KIND>', help: 'native or opa (default: native)' },
      ...COMMANDS_SETTINGS,
      ...MEMBERS,
    ],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetCreate,
  },
  {
    path: 'policy-set update',
    summary: 'Update the settings of a policy set; "add" and "remove" change its members.',
    examples: [{ line: 'reeve policy-set update jobs --name job-limits', says: 'rename it' }],
    args: [SET],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...COMMANDS_SETTINGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetUpdate,
  },
  {
    path: 'policy-set delete',
    summary: 'Delete a policy set; its policies are kept.',
    examples: [{ line: 'reeve policy-set delete jobs', says: 'asks for confirmation' }],
    args: [SET],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./policy-set.ts')).runPolicySetDelete,
  },
  {
    path: 'policy-set add',
    summary: 'Add policies to a set, or extend its scope.',
    examples: [{ line: 'reeve policy-set add jobs --policy limits', says: 'one policy' }],
    args: [SET],
    flags: MEMBERS,
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetAdd,
  },
  {
    path: 'policy-set remove',
    summary: 'Remove policies from a set, or reduce its scope.',
    examples: [{ line: 'reeve policy-set remove jobs --policy limits', says: 'one policy' }],
    args: [SET],
    flags: MEMBERS,
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetRemove,
  },
  {
    path: 'policy-set param',
    summary: 'List, set or remove the parameters of a policy set.',
    examples: [
      { line: 'reeve policy-set param jobs', says: 'list the parameters' },
      { line: 'reeve policy-set param jobs cpu_max=4000', says: 'set a parameter' },
      { line: 'reeve policy-set param jobs --remove cpu_max', says: 'remove a parameter' },
    ],
    args: [SET, { usage: '[KEY=VALUE...]', help: 'parameters to set' }],
    flags: [
      { usage: '--sensitive', help: 'treat the values as sensitive: never show them again' },
      { usage: '--remove <KEY>', help: 'a parameter to remove', isRepeated: true },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetParam,
  },
  {
    path: 'policy-set upload',
    summary: 'Replace the policies of a set with those of a tar.gz archive.',
    examples: [
      {
        line: 'tar cz . | reeve policy-set upload jobs -',
        says: 'upload the policies of this directory',
      },
    ],
    args: [
      SET,
      { usage: '<ARCHIVE>', help: 'a tar.gz; "-" reads standard input', completionKind: 'file' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./policy-set.ts')).runPolicySetUpload,
  },
]
